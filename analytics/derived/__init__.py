"""Inputs that several detectors share, computed before they run; each part has its own memory."""
