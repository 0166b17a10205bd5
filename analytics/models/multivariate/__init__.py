"""Models of all values of a device together, one per kind of device, trained on healthy history in event time."""
