"""I/O counters of IBM Storage Scale from its mmpmon."""
