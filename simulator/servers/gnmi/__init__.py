"""gNMI servers, one a switch: paths and trees are pure, ``server.py`` owns the sockets."""
