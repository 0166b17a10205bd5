"""Detectors of GPUs."""
