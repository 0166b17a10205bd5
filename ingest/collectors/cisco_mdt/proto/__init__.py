"""Cisco's telemetry messages: stubs generated from the ``*.proto`` files here by ``generate.sh``."""
