"""Series from files through the scoring engine: reading, what its columns mean, writing, and pictures."""
