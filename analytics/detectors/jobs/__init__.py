"""Detectors of jobs and their members."""
