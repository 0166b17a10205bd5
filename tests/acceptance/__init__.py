"""The whole program against real servers: what must work end to end."""
