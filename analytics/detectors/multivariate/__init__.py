"""Values of one device looked at together, each kind of device by a model of its own."""
