"""Detectors of any series: by its own past, by its peers, by its limit."""
