"""The same plan through the real collectors and without a protocol: whether campaigns without one flatter."""
