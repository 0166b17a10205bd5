"""Records on the wire: batches of samples, and everything else."""
