"""Fixture: a real alertmanager."""
