"""``make tour``: three faults at once on 512 GPUs, as the on-call sees them, written to ``docs/tour/``."""
