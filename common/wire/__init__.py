"""Compiled functions over the bytes of a peer that several folders use; ``common/jit.py`` follows their changes."""
