"""What the NOC page shows of a cluster that is well: jobs and their pace, GPU time, traffic, the fabric by tiers."""
