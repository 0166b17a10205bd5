"""Fixture: a real gnmi."""
