"""What runs on the cluster: GPUs, jobs with their rings, and the file system."""
