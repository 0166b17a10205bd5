"""What follows about the cluster from the series that it sends, where nobody has recorded it."""
