"""Shapes of clusters: which switches there are, and what is plugged where."""
