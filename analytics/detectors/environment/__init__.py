"""Detectors of power and cooling."""
