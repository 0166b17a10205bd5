"""Comparison of the members of a job, rail, role, leaf or file system with each other at the same moment."""
