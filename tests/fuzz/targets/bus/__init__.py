"""What is on the bus."""
