"""Fixture: a real node_exporter."""
