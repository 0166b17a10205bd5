"""What would have been without a fault: the same cluster from the same moment on, and what differs."""
