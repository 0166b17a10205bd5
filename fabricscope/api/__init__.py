"""The HTTP API: what is known now, read from the bus."""
