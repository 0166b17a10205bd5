"""Ordinary behaviour of a cluster that is no fault: nothing is broken, nobody needs a page."""
