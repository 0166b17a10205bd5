"""gNMI paths, and the series or metadata behind each of them."""
