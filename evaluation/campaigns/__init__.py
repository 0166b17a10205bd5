"""Fault campaigns: faults of the simulated cluster through the whole engine, judged by the ground truth."""
