"""Snapshots of other versions: what earlier ones have written is read, what later ones have written is refused."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from analytics.config import EngineConfig
from analytics.engine import Output
from analytics.snapshot import snapshot, state_file
from analytics.snapshot.fit import Cause
from analytics.snapshot.snapshot import STATE_VERSION
from analytics.worker import build_engine
from common.errors import BadInput
from telemetry.findings import Finding, FindingKind
from tests.unit.analytics.snapshot.kept import (
    MARK,
    NEWEST,
    ROUNDS,
    SNAPSHOTS,
    batches,
    begun,
    loaded,
    observed,
    open_incidents,
)

Head = dict[str, Any]
KEPT = sorted(SNAPSHOTS.glob("version-*.snapshot"))
NEW_DETECTORS = {"checkpoint_member", "fec_margin", "gpu_hot", "job_idle", "storage_timeouts", "storage_wait"}
# It was as warm as the others of its host in what the kept snapshots have seen, and is the warmest today.
WARMER = "gpu:node1/GPU-1-2"
# What rests on the class of a job, of which earlier versions knew nothing: it is shown again within a minute. Findings
# that they made without it end.
OF_CLASSES = {"gpu_hung", "straggler", "job_slowed", "job_stalled", "gpu_fault"}
# What is open and published once more: an incident took a session that was lost, which it does not explain; the title
# of another says today that no job waits; a slow link says what its port usually carries, and a slow GPU what its job
# will lose.
PUBLISHED_AGAIN = {
    ("environment", "firing"),
    ("slow_storage", "firing"),
    ("link_slow", "active"),
    ("gpu_throttled", "active"),
}
CLEARED_ROUND = 62  # everything is well again from round 42 on


def test_there_is_one_of_each_version() -> None:
    assert [path.stem for path in KEPT] == [f"version-{number}" for number in range(15, STATE_VERSION + 1)]


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_everything_that_an_earlier_version_knew_is_known(path: Path) -> None:
    engine, found = loaded(path)
    assert (found.mark, found.begun_again, found.unknown) == (MARK, {}, ())
    assert len(engine.registry) == engine.series.columns.size == 444
    assert np.count_nonzero(engine.series.columns["baseline"][:, 0]) > 200
    assert np.count_nonzero(engine.series.columns["slot"] >= 0) == 36
    assert all(block.part.state().arrays for name, block in engine.blocks.items() if name.startswith("detectors."))
    assert engine.multivariate.models[0].devices == 16


def changes_of(outputs: list[Output]) -> set[tuple[str, str, str]]:
    """Kind, id and state of all that was published; numbers may differ in the last digit between machines.

    A set, as a version with other texts publishes what is open once more. Without what detectors publish that earlier
    versions had not: after the restart they find it for the first time.
    """
    known = (one for one in outputs if not (isinstance(one, Finding) and _is_new(one)))
    return {(one.kind, one.id, one.state) for one in known if (one.kind, one.state) not in PUBLISHED_AGAIN}


def _is_new(finding: Finding) -> bool:
    warmer = finding.kind is FindingKind.DEVIATION and str(finding.object) == WARMER
    return warmer or finding.detector in NEW_DETECTORS


def of_others(changes: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """Those that do not rest on the class of a job."""
    return {change for change in changes if change[0] not in OF_CLASSES}


@pytest.fixture(scope="module")
def without_restart() -> set[tuple[str, str, str]]:
    engine = begun()
    observed(engine, batches(0, ROUNDS))
    return changes_of(observed(engine, batches(ROUNDS, CLEARED_ROUND)))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_it_goes_on_from_an_earlier_version_as_if_there_had_been_no_restart(
    path: Path, without_restart: set[tuple[str, str, str]]
) -> None:
    engine, _ = loaded(path)
    assert len(open_incidents(engine)) == 9
    changes = changes_of(observed(engine, batches(ROUNDS, CLEARED_ROUND)))
    assert of_others(changes) == of_others(without_restart)


def test_what_shows_the_class_of_a_job_goes_on_from_the_format_of_today(
    without_restart: set[tuple[str, str, str]],
) -> None:
    engine, found = loaded(SNAPSHOTS / "working-3.snapshot")
    assert found.begun_again == {}
    assert engine.working.state().arrays["host"].any()
    assert changes_of(observed(engine, batches(ROUNDS, CLEARED_ROUND))) == without_restart


def test_it_goes_on_from_the_first_format_with_classes(without_restart: set[tuple[str, str, str]]) -> None:
    engine, found = loaded(SNAPSHOTS / "working-2.snapshot")
    assert found.begun_again == {}
    assert of_others(changes_of(observed(engine, batches(ROUNDS, CLEARED_ROUND)))) == of_others(without_restart)


def rewritten(tmp_path: Path, change: Callable[[Head], object]) -> Path:
    """The newest snapshot with another head, as another version would have written it."""
    head, arrays = state_file.read(NEWEST)
    change(head)
    state_file.write(tmp_path / "snapshot", head, arrays)
    return tmp_path / "snapshot"


def test_a_block_of_a_newer_version_begins_again_alone_and_names_the_remedy(tmp_path: Path) -> None:
    path = rewritten(tmp_path, lambda head: head["blocks"].update({"scores": [7, ""]}))
    engine, found = loaded(path)
    assert list(found.begun_again) == ["scores"]
    cause, text = found.begun_again["scores"]
    assert cause is Cause.NEWER
    assert "format 7, this version reads 6" in text
    assert "start the newer version again" in text
    assert (engine.series.columns["slot"] == -1).all()
    assert np.isnan(engine.series.columns["anomaly"]).all()
    assert np.count_nonzero(engine.series.columns["baseline"][:, 0]) > 200


def test_a_block_that_this_version_has_not_is_left_out_and_named(tmp_path: Path) -> None:
    def add(head: Head) -> None:
        head["blocks"]["novelties"], head["parts"]["novelties"] = [1, ""], {"new": 1}

    _, found = loaded(rewritten(tmp_path, add))
    assert (found.begun_again, found.unknown) == ({}, ("novelties",))


@pytest.mark.parametrize("block", ["window", "registry", "rates", "targets", "cluster", "findings", "correlator"])
def test_without_what_the_others_rest_on_nothing_is_used(tmp_path: Path, block: str) -> None:
    path = rewritten(tmp_path, lambda head: head["blocks"].update({block: [99, ""]}))
    engine = build_engine(EngineConfig())
    with pytest.raises(BadInput, match=f"without {block} .*format 99, this version reads") as raised:
        snapshot.load(path, engine)
    assert "start the newer version again" in str(raised.value)
    assert len(engine.registry) == 0


@pytest.mark.parametrize(
    ("version", "remedy"), [(STATE_VERSION + 1, "start the newer version again"), (14, "delete the file")]
)
def test_another_layout_is_refused_with_both_numbers(tmp_path: Path, version: int, remedy: str) -> None:
    path = rewritten(tmp_path, lambda head: head.update(version=version))
    with pytest.raises(BadInput, match=f"version {version}, expected {STATE_VERSION}: .*{remedy}"):
        loaded(path)


def test_the_program_before_blocks_would_refuse_today_s_by_its_number() -> None:
    head, _ = state_file.read(NEWEST)
    assert head["version"] == STATE_VERSION  # it compared this with 15 before anything else


def test_a_block_of_an_older_format_without_migration_begins_again_alone(tmp_path: Path) -> None:
    path = rewritten(tmp_path, lambda head: head["blocks"].update({"baselines": [0, ""]}))
    engine, found = loaded(path)
    assert {name: why.cause for name, why in found.begun_again.items()} == {"baselines": Cause.FORMAT}
    assert not engine.series.columns["baseline"].any()


def test_a_block_with_other_columns_begins_again_alone(tmp_path: Path) -> None:
    head, arrays = state_file.read(NEWEST)
    arrays["baselines/baseline"] = arrays["baselines/baseline"][:, :3]
    state_file.write(tmp_path / "snapshot", head, arrays)
    _, found = loaded(tmp_path / "snapshot")
    assert {name: why.text for name, why in found.begun_again.items()} == {"baselines": "other columns: baseline"}
