"""What the API answers, a file for each part."""
