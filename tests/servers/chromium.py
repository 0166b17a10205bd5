"""Fixture: a real chromium."""
