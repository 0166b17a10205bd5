"""From the state of the model to what exporters read."""
