"""What is known of every series, and the read-only view of it that a tick gives."""
