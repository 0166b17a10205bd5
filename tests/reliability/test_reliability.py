"""The rows about reliability: complete, true to the tests that they name, and shown as they are."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest
from pydantic import ValidationError

from tests.reliability import Row, attacks, boundaries, faults
from tests.reliability.__main__ import document

ROOT = Path(__file__).parents[2]
FAULTS = [row for rows in faults().values() for row in rows]
FAULTS_MAX, ATTACKS_MAX = 70, 30
NAMED = {f"row {row.row}": row.tests for row in (*FAULTS, *attacks())}
NAMED |= {one.boundary: one.tests for one in boundaries()}


@cache
def functions_of(path: Path) -> set[str]:
    """Read, not imported: some need servers or devices to be imported at all."""
    tree = ast.parse(path.read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def test_every_fault_and_attack_has_one_row_in_its_place() -> None:
    assert [row.row for row in FAULTS] == [str(number) for number in range(1, FAULTS_MAX + 1)]
    assert [row.row for row in attacks()] == [f"S{number}" for number in range(1, ATTACKS_MAX + 1)]


@pytest.mark.parametrize("tests", NAMED.values(), ids=NAMED)
def test_the_tests_that_are_named_exist(tests: tuple[str, ...]) -> None:
    assert len(set(tests)) == len(tests)
    for test in tests:
        path, _, function = test.partition("::")
        assert function.startswith("test_"), test
        assert Path(path).name.startswith("test_"), test
        assert (ROOT / path).is_file(), test
        assert function in functions_of(ROOT / path), test


def test_drills_are_targets_of_make() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {drill for row in (*FAULTS, *attacks()) for drill in row.drills} <= targets


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": "tested"}, "tested with 0 tests"),
        ({"state": "absent", "tests": ["a.py::test_b"], "note": "n"}, "absent with 1 tests"),
        ({"state": "in part", "tests": ["a.py::test_b"]}, "says what is missing"),
        ({"state": "absent"}, "says what is missing"),
        ({"state": "nearly", "note": "n"}, "state"),
    ],
)
def test_a_row_that_claims_more_than_it_shows_is_refused(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Row.model_validate({"row": 1, "fault": "f", "promise": "p", **changes})


def test_every_boundary_is_in_the_threat_model_with_its_tests() -> None:
    assert [one.boundary for one in boundaries()] == [
        "targets to ingest",
        "the library of the GPU driver to ingest",
        "devices that push to ingest",
        "topics of other collectors to ingest",
        "discovery to ingest",
        "the bus",
        "people and programs to the API",
        "alerts to receivers",
        "export to Prometheus",
        "senders of remote write to ingest",
        "boards to Grafana",
        "files that stages keep",
        "recordings",
        "settings",
        "text of telemetry to whoever reads it",
    ]
    assert all(one.tests for one in boundaries())


def test_the_committed_document_is_the_generated_one() -> None:
    assert (ROOT / "docs" / "reliability.md").read_text() == document(), "run: make docs"
