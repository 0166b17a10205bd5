"""The records that NCCL Inspector writes about the collectives of running jobs."""
