"""Jobs and nodes from Kubernetes."""
