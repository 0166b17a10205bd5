"""The documents: settings that load, links that lead somewhere, commands that exist."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from fabricscope.cli import app
from fabricscope.settings import OF_INGEST, Settings, load_settings

ROOT = Path(__file__).parents[3]
FOLDERS = (
    "docs",
    "telemetry",
    "ingest",
    "analytics",
    "alerts",
    "export",
    "dashboards",
    "recordings",
    "simulator",
    "tests",
)
DOCUMENTS = sorted({*ROOT.glob("*.md"), *(page for folder in FOLDERS for page in (ROOT / folder).rglob("*.md"))})
OF_TODAY = [page for page in DOCUMENTS if page.parent != ROOT / "tests" / "guides"]
"""Not the worked examples of the guides: they have files and settings that they add."""
SECTIONS = {field.alias or name for name, field in Settings.model_fields.items()} | set(OF_INGEST)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def settings_blocks() -> Iterator[tuple[str, str]]:
    """Every YAML block that is a whole settings file: its keys stand at the margin and are sections."""
    for page in OF_TODAY:
        for place, block in enumerate(re.findall(r"^```yaml\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)):
            document = yaml.safe_load(block)
            if isinstance(document, dict) and not block.startswith(" ") and SECTIONS & document.keys():
                yield f"{name_of(page)}:{place}", block


BLOCKS = dict(settings_blocks())


@pytest.mark.parametrize("block", BLOCKS.values(), ids=BLOCKS)
def test_settings_load(block: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.yaml"
    path.write_text(block)
    load_settings(path)


def test_there_are_settings_in_the_documents() -> None:
    assert {name.partition(":")[0] for name in BLOCKS} >= {"docs/alerts.md", "docs/collectors/gnmi.md"}


def anchors(page: Path) -> set[str]:
    """As code hosts make them of headings."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", text)):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (page.parent / place) if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            broken.append(link)
    assert broken == []


def commands_in(page: Path) -> str:
    """What stands in code, in line or in blocks."""
    return "\n".join(re.findall(r"```.*?```|`[^`\n]+`", page.read_text(), re.DOTALL))


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z]+)", commands_in(page), re.MULTILINE)) <= targets


@pytest.mark.parametrize("page", [page for page in DOCUMENTS if page.name != "CHANGELOG.md"], ids=name_of)
def test_commands_exist(page: Path) -> None:
    program = get_command(app)
    known = set(program.commands)  # type: ignore[attr-defined]  # a group, as it has several commands
    found = set(re.findall(r"(?:^|[`/])fabricscope ([a-z]+)\b", commands_in(page), re.MULTILINE))
    assert found <= known


OURS = "|".join((*FOLDERS, "common", "bus", "fabricscope", "evaluation", "benchmarks", "deploy"))
FILE = re.compile(rf"`((?:{OURS})/[\w./-]+\.(?:py|yaml|yml|md|sh|json))`")


@pytest.mark.parametrize("page", [page for page in OF_TODAY if page.name != "SOURCES.md"], ids=name_of)
def test_files_that_are_named_exist(page: Path) -> None:
    assert [path for path in FILE.findall(page.read_text()) if not (ROOT / path).exists()] == []
