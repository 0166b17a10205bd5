"""What is in a message of a topic: pure, one module for each format."""
