"""Telemetry as it comes, over real protocols: what exporters cache, leave out, lose and stamp wrongly."""
