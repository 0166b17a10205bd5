"""Labelled series: synthetic ones, and public ones with injected anomalies."""
