"""What several detectors need, worked out before they run, each by a part with a memory of its own."""
