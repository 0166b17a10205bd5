"""Model-driven telemetry that Cisco switches send by themselves."""
