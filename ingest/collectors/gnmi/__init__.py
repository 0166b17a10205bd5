"""Streaming telemetry over gNMI."""
