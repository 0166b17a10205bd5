"""Statistics over many series at once, one a file."""
