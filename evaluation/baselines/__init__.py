"""Baselines: anomaly detection methods from papers and libraries. Each is causal, and a function of one series."""
