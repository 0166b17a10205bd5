"""Labelled series, synthetic and recorded by others, and how well methods do on them."""
