"""Fault campaigns on the simulated cluster, and the judge."""
