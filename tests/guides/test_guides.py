"""The guides of CONTRIBUTING.md: each is followed literally, by its worked example in a copy of the product."""

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.guides.example import ROOT, apply, copy_product, read_example, run

GUIDE = re.compile(r"^## How to add an? (\w+)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
SECTIONS = dict(GUIDE.findall((ROOT / "CONTRIBUTING.md").read_text()))
EXAMPLES = {page.stem: read_example(page.read_text()) for page in sorted(Path(__file__).parent.glob("*.md"))}

each_guide = pytest.mark.parametrize("name", EXAMPLES)


def named_in(section: str) -> list[re.Pattern[str]]:
    """Files that a section names; ``<name>`` and ``*`` stand for any part of a name."""
    names = re.findall(r"`([\w./<>*-]+\.\w+)`", section)
    return [re.compile(re.sub(r"<\w+>|\*", r"[\\w-]+", re.escape(name).replace(r"\*", "*"))) for name in names]


def product(files: Iterable[str]) -> list[str]:
    """Those that are no tests."""
    return sorted(file for file in files if not file.startswith("tests/"))


def stated(section: str, noun: str) -> int:
    """The number before a noun, 0 where there is none."""
    found = re.search(rf"(\d+) {noun}s?\b", section)
    return int(found[1]) if found else 0


def test_every_guide_that_changes_code_has_an_example() -> None:
    assert SECTIONS.keys() - {"decision"} == EXAMPLES.keys()


@each_guide
def test_a_guide_names_every_file_and_command_of_its_example(name: str) -> None:
    example, section = EXAMPLES[name], SECTIONS[name]
    patterns = named_in(section)
    files = example.new | example.edited
    assert {file for file in files if not any(pattern.fullmatch(file) for pattern in patterns)} == set()
    assert f"(tests/guides/{name}.md)" in section
    for command in example.commands:
        assert not command.startswith("make ") or f"`{command}`" in section


@each_guide
def test_a_guide_states_how_many_files_it_takes(name: str) -> None:
    example, section = EXAMPLES[name], SECTIONS[name]
    assert stated(section, "new file") == len(product(example.new))
    assert stated(section, "edit") == len(product(example.edited))


@each_guide
def test_an_example_works(name: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    copy_product(tmp_path / "copy")
    apply(example.steps, tmp_path / "copy")
    code = " ".join(sorted(file for file in example.new | example.edited if file.endswith(".py")))
    lint = [f"ruff check --no-cache {code}", f"ruff format --no-cache --check {code}"] if code else []
    assert run([*lint, *example.commands], tmp_path / "copy") == ""


@pytest.mark.parametrize(
    ("name", "path"), [(name, path) for name, example in EXAMPLES.items() for path in product(example.edited)]
)
def test_no_edit_can_be_left_out(name: str, path: str, tmp_path: Path) -> None:
    example = EXAMPLES[name]
    copy_product(tmp_path / "copy")
    apply([step for step in example.steps if step.path != path], tmp_path / "copy")
    assert run(example.commands, tmp_path / "copy")
