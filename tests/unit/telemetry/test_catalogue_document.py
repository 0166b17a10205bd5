"""The document about metrics is the one that the catalogue generates."""

from pathlib import Path

from telemetry.catalogue.__main__ import document


def test_the_document_is_the_generated_one():
    committed = Path(__file__).parents[3] / "docs" / "metrics.md"
    assert committed.read_text() == document(), "run: make docs"
