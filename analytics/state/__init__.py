"""The state of every series, target and topology record."""
