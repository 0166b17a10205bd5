"""Samples to events: when something began and ended, between which two readings."""
