"""The state of every series, target and topology record, and the read-only view of it at the end of a tick."""
