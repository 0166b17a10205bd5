"""The changelog can be used to upgrade: it has the present version, and every entry a type."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]
HEADINGS = re.split(r"(?m)^## ", (ROOT / "CHANGELOG.md").read_text())[1:]


def test_releases_are_listed_newest_first_down_from_what_is_unreleased():
    versions = [heading.split("\n", 1)[0] for heading in HEADINGS]
    assert versions[0] == "Unreleased"
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", version) for version in versions[1:])
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == versions[1]


def test_every_entry_has_a_type():
    entries = [line for heading in HEADINGS for line in heading.split("\n")[1:] if line.startswith("* ")]
    assert entries
    assert [entry for entry in entries if not re.match(r"\* \[(CHANGE|FEATURE|FIX)\] [A-Z`]", entry)] == []
