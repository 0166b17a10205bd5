"""What only people know about the cluster, from a file."""
