"""gNMI paths, and what each of them leads to."""
