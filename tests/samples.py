"""Payloads of real sources; ``tests/data/samples/SOURCES.md`` says whose they are."""

from pathlib import Path

SAMPLES = Path(__file__).parent / "data" / "samples"
