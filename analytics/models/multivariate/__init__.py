"""Values of one device looked at together: models per kind of device, learned from healthy history in event time."""
