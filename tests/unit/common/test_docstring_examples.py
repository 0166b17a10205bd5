"""The examples in docstrings of what stages share and of what they send."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
FOLDERS = ("common", "bus", "alerts", "export")


def modules() -> list[str]:
    files = [file for folder in FOLDERS for file in sorted((ROOT / folder).rglob("*.py"))]
    return [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if ">>> " in file.read_text()]


@pytest.mark.parametrize("name", modules())
def test_examples_are_true(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


def test_there_are_examples_in_every_part() -> None:
    assert {"common.retry", "common.units", "bus.partitions", "alerts.rendering.text"} <= set(modules())
