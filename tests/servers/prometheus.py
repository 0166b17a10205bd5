"""Fixture: a real prometheus."""
