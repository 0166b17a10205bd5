"""Why compiled scans of messages stop."""

DONE, PLAIN, FULL = 0, -1, -2
"""At the end; before what is left to a plain reader; before what there is no room for. Also in place of an offset."""
