"""Detectors of storage targets."""
