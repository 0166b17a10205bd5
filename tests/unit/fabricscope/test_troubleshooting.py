"""The guide for troubles: what it quotes is what the program says."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from fabricscope.settings import Settings
from telemetry.samples import DownReason

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "troubleshooting.md").read_text()
FOLDERS = ("common", "telemetry", "bus", "ingest", "analytics", "alerts", "export", "recordings", "fabricscope")
ELSEWHERE = {"Invalid host header": "Starlette", "receivers:": "a part of a line"}
SOURCES = {
    path: re.sub(r'"\s*(?:#.*)?\n\s*r?f?"', "", path.read_text())  # a text of several lines is one text
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
}


def quoted() -> Iterator[str]:
    """The code in the first cell of each row: messages and reasons."""
    for row in re.findall(r"^\| (.*)$", GUIDE, re.MULTILINE):
        yield from re.findall(r"`([^`]+)`", row.split(" | ")[0])


def is_said(message: str) -> bool:
    """Whether one file has all of its fixed parts, in this order."""
    parts = [part.strip(" :;,") for part in message.split("…") if part.strip(" :;,")]
    pattern = re.compile(".*?".join(re.escape(part) for part in parts))
    return any(pattern.search(line) for text in SOURCES.values() for line in text.splitlines())


@pytest.mark.parametrize("message", sorted({*quoted()} - ELSEWHERE.keys() - {*DownReason}))
def test_the_program_says_it(message: str) -> None:
    assert is_said(message)


def test_a_message_that_nobody_says_is_found() -> None:
    assert len({*quoted()}) > 50
    assert not is_said("the bus is tired of … samples")


def test_settings_that_it_names_exist() -> None:
    sections = {field.alias or name: field.annotation for name, field in Settings.model_fields.items()}
    named = set(re.findall(r"`(global|bus|api|alerting|analytics|recording)\.([a-z_.]+)`", GUIDE))
    assert len(named) > 8
    for section, key in named:
        model = sections[section]
        for part in key.split("."):
            models = [model, *getattr(model, "__args__", ())]
            fields = {name: field for one in models for name, field in getattr(one, "model_fields", {}).items()}
            assert part in fields, f"{section}.{key}"
            model = fields[part].annotation
