"""What management controllers log: entries of their LogServices, as events."""
