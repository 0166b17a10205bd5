"""Exporter pages: a template a device, built once, filled with the readings of the moment."""
