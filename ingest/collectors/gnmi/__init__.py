"""Streaming telemetry over gNMI. ``collector.py`` is the shell; the rest is pure or waits for one thing."""
