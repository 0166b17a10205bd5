"""The state of an engine in one file."""
