"""The simulated cluster over the real protocols: gNMI, exporter pages, Slurm's JSON, and a control port for faults.

Addresses are loopback addresses, one a device, so that ports are the real ones (``addresses.py``). Nothing here changes
a value: clients read what the model counted.
"""
