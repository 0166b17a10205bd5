"""Batches into event-time ticks."""
