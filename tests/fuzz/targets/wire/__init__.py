"""What comes over the network, and texts inside it."""
