"""Every decoder against input that nobody thought of.

``python -m tests.fuzz`` runs each target for a while; ``test_fuzz.py`` runs what was kept, and a few mutations of it.
A target is a module below ``targets`` with ``SEEDS``, inputs to begin with, and ``target(data)``, which raises nothing
but what is a bug. ``corpus/<target>/`` keeps inputs that reached something new, and all that ever broke a decoder.
"""
