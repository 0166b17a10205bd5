"""Jobs from Slurm."""
