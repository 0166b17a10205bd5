"""The page about metrics says what the catalogue says today."""

from pathlib import Path

from telemetry.catalogue.__main__ import page


def test_the_page_is_the_generated_one():
    committed = Path(__file__).parents[3] / "docs" / "metrics.md"
    assert committed.read_text() == page(), "run: make pages"
