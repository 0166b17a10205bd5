"""Detectors of the telemetry itself."""
