"""Detectors of any series: against its own past, its peers or its limit."""
