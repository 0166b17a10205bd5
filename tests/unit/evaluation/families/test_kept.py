from dataclasses import replace
from pathlib import Path

import pytest

from common.errors import ConfigError
from evaluation.families.judge import ClusterOutcome, judge
from evaluation.families.kept import KeptOutcomes, digest_of_sources
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind
from tests.unit.evaluation.families.made_up import FAMILY, finding, page, run

HEALTHY = FAMILY.model_copy(update={"faults": None})


def outcome(at_s: float) -> ClusterOutcome:
    """A healthy cluster with a false page and a false finding."""
    made = run([], [page(IncidentKind.INCAST, "port:leaf1/Ethernet0", at_s)], HEALTHY)
    found = finding(FindingKind.PFC_PAUSE_SENT, "port:leaf1/Ethernet0")
    return judge(replace(made, findings={found.id: found}), [])


def test_outcomes_are_read_as_they_were_written(tmp_path: Path) -> None:
    written = [outcome(500.0), outcome(600.0)]
    kept = KeptOutcomes(tmp_path / "some" / "kept.jsonl", {"code": "1"})
    assert kept.read() == []
    for each in written:
        kept.add(each)
    assert KeptOutcomes(tmp_path / "some" / "kept.jsonl", {"code": "1"}).read() == written


def test_a_line_that_was_cut_off_is_written_again(tmp_path: Path) -> None:
    path = tmp_path / "kept.jsonl"
    kept = KeptOutcomes(path, {"code": "1"})
    kept.begin()
    kept.add(outcome(500.0))
    whole = path.read_text()
    kept.add(outcome(600.0))
    path.write_text(path.read_text()[:-20])
    assert kept.read() == [outcome(500.0)]
    assert path.read_text() == whole


def test_outcomes_of_other_code_are_refused(tmp_path: Path) -> None:
    KeptOutcomes(tmp_path / "kept.jsonl", {"code": "1"}).begin()
    other = KeptOutcomes(tmp_path / "kept.jsonl", {"code": "2"})
    with pytest.raises(ConfigError, match="other code or options"):
        other.read()
    other.begin()
    assert other.read() == []


@pytest.mark.parametrize(("changed", "same"), [("analytics/engine.py", False), ("simulator/notes.md", True)])
def test_the_digest_changes_with_code_and_declarations(tmp_path: Path, changed: str, same: bool) -> None:
    for name in ("analytics/engine.py", "evaluation/families/declared.yaml", changed):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("before")
    before = digest_of_sources(tmp_path)
    (tmp_path / changed).write_text("after")
    assert (digest_of_sources(tmp_path) == before) is same
