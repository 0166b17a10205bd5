"""What is in files."""
