"""Detectors of ports, links and switches."""
