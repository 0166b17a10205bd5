"""What an incident says to people."""
