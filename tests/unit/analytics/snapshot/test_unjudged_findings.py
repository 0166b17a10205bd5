"""Findings that lost their judge over a restart end; those that only wait for their next value do not."""

from pathlib import Path
from typing import Any

import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine, Output
from analytics.snapshot import snapshot, state_file
from analytics.worker import build_engine
from telemetry.findings import Finding, FindingState
from tests.unit.analytics.snapshot.kept import MARK, NEWEST, ROUNDS, TARGETS, batches, loaded, observed

NOT_SCORED = EngineConfig.model_validate({"detection": {"scored": {"rdma_out_of_sequence_total": 10.0}}})
FIRST, LATER = ROUNDS + 4, ROUNDS + 200  # half an hour later, which the window skips but for its ends


def of_deviation(engine: Engine) -> set[str]:
    entries = engine.blocks["findings"].part.state().head["entries"].get("deviation", {})
    return {name for name, entry in entries.items() if entry["active"]}


def cleared(outputs: list[Output], detector: str) -> set[str]:
    findings = [one for one in outputs if isinstance(one, Finding)]
    return {str(one.object) for one in findings if one.detector == detector and one.state is FindingState.CLEARED}


def played(engine: Engine, since: int, until: int, *, without: str = "") -> list[Output]:
    return observed(engine, [each for each in batches(since, until) if each.table.device != without])


def test_a_finding_about_what_its_detector_judges_no_more_ends_after_half_an_hour() -> None:
    engine, _ = loaded(NEWEST, NOT_SCORED)
    before = of_deviation(engine)
    assert len(before) == 4
    assert not cleared(played(engine, ROUNDS, FIRST), "deviation")
    assert of_deviation(engine) == before
    assert cleared(played(engine, LATER, LATER + 2), "deviation") == before
    assert not of_deviation(engine)


def test_that_it_waits_outlives_another_restart(tmp_path: Path) -> None:
    first, _ = loaded(NEWEST, NOT_SCORED)
    before = of_deviation(first)
    played(first, ROUNDS, FIRST)
    snapshot.save(tmp_path / "snapshot", first, MARK)
    second = build_engine(NOT_SCORED)
    assert not snapshot.load(tmp_path / "snapshot", second).begun_again
    assert not cleared(played(second, FIRST, FIRST + 2), "deviation")
    assert cleared(played(second, LATER, LATER + 2), "deviation") == before


def test_one_about_a_device_that_is_silent_stays() -> None:
    engine, _ = loaded(NEWEST, NOT_SCORED)
    before = of_deviation(engine)
    silent = {name for name in before if name.startswith("port:node0/")}
    played(engine, ROUNDS, FIRST, without="node0")
    assert cleared(played(engine, LATER, LATER + 2, without="node0"), "deviation") == before - silent
    assert of_deviation(engine) == silent != set()


def test_one_that_is_judged_again_ends_when_its_detector_says_so() -> None:
    limits = EngineConfig.model_validate({"detection": {"scored": {"nic_pcie_stalled_ratio": 0.2}}})
    engine, _ = loaded(NEWEST, limits)
    before = of_deviation(engine)
    assert cleared(played(engine, ROUNDS, ROUNDS + 12), "deviation") == before


@pytest.mark.parametrize(("kind", "published"), [("deviation", True), ("kind_of_a_newer_version", False)])
def test_those_of_a_detector_that_is_gone_end_at_the_first_tick(tmp_path: Path, kind: str, published: bool) -> None:
    head, arrays = state_file.read(NEWEST)
    findings: dict[str, Any] = head["parts"]["findings"]
    findings["entries"]["novelty"] = findings["entries"].pop("deviation")
    findings["kinds"]["novelty"] = kind
    state_file.write(tmp_path / "snapshot", head, arrays)
    engine, _ = loaded(tmp_path / "snapshot")
    ended = cleared(observed(engine, batches(ROUNDS, ROUNDS + 1)[:TARGETS]), "novelty")
    assert len(ended) == (4 if published else 0)
    assert "novelty" not in engine.blocks["findings"].part.state().head["entries"]
