"""Findings to incidents: one cause each, over the physical graph of the cluster. Pure: no clock, no I/O."""
