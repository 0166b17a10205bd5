"""From Telemetry messages to columns."""
