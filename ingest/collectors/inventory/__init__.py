"""Facts about the cluster that no device reports, from a file."""
