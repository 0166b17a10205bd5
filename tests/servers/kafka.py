"""Fixture: a real kafka."""
