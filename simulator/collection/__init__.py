"""Telemetry as it comes in the field: when each exporter is read, how old its values are, what is lost or wrong."""
