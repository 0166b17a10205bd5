"""All values of one device judged together, by a model for each kind of device."""
