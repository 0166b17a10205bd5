"""From what the model counts to what exporters read."""
