"""Snapshots: an engine cut anywhere and restored goes on bit by bit; what does not fit is not loaded."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from analytics.config import AnalyticsConfig
from analytics.engine import Engine, Output
from analytics.snapshot import snapshot
from analytics.snapshot.snapshot import Mark
from analytics.worker import Worker
from telemetry import topics
from telemetry.codec.records import encode_record
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches, new_engine
from tests.unit.analytics.restart import MARK, restarted, saved
from tests.unit.analytics.small_cluster import CONFIG

BATCHES = batches()
BEGUN_AGAIN = ("fabricscope_analytics_state_blocks_begun_again_total", {"block": "scores", "cause": "setting"})
REFUSED = ("fabricscope_analytics_snapshots_total", {"outcome": "refused"})


def begun() -> Engine:
    engine: Engine = new_engine()
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    return engine


def published(engine: Engine, part: slice) -> list[bytes]:
    outputs: list[Output] = []
    for each in BATCHES[part]:
        engine.observe(each)
        outputs.extend(engine.advance())
    return [encode_record(output) for output in outputs]


WHOLE = begun()
REFERENCE = published(WHOLE, slice(None))


@settings(max_examples=8, deadline=None)
@given(cut=st.integers(0, len(BATCHES)))
def test_a_restored_engine_continues_bit_by_bit(cut: int) -> None:
    first = begun()
    before = published(first, slice(0, cut))
    second = restarted(first, new_engine())
    assert before + published(second, slice(cut, None)) == REFERENCE
    assert second.counts == WHOLE.counts
    for name, array in WHOLE.series.columns.state().arrays.items():
        assert np.array_equal(array, second.series.columns[name], equal_nan=array.dtype.kind == "f"), name


@settings(max_examples=8, deadline=None)
@given(cut=st.integers(0, len(BATCHES)))
def test_state_that_was_restored_saves_to_the_same_bytes(cut: int) -> None:
    engine = begun()
    published(engine, slice(0, cut))
    assert saved(restarted(engine, new_engine())) == saved(engine)


def test_a_worker_names_what_begins_again_in_log_metric_and_report(tmp_path: Path) -> None:
    snapshot.save(tmp_path / "analytics.snapshot", WHOLE, MARK)
    config = CONFIG.model_copy(update={"baseline_horizon_s": 60.0})
    worker = Worker(AnalyticsConfig(engine=config, state_dir=tmp_path), topics.TOPOLOGY)
    before = REGISTRY.get_sample_value(*BEGUN_AGAIN) or 0.0
    with capture_logs() as logged:
        assert worker.load(5) == "snapshot loaded, without scores"
    reason = "setting baseline_horizon_s changed from 1800.0 to 60.0"
    assert [(entry["log_level"], entry["block"], entry["reason"]) for entry in logged] == [
        ("warning", "scores", reason)
    ]
    assert REGISTRY.get_sample_value(*BEGUN_AGAIN) == before + 1
    assert worker.report(6).details["begun_again_scores"] == 1
    assert worker.mark == MARK


def truncated(content: bytes) -> bytes:
    return content[: len(content) // 2]


def flipped(content: bytes) -> bytes:
    return content[:-1] + bytes([content[-1] ^ 1])


def of_before(content: bytes) -> bytes:
    return b"FSS2" + content[4:]


def empty(content: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damaged", [truncated, flipped, of_before, empty])
def test_a_worker_that_finds_a_damaged_snapshot_logs_it_and_starts_from_nothing(
    tmp_path: Path, damaged: Callable[[bytes], bytes]
) -> None:
    worker = Worker(AnalyticsConfig(engine=CONFIG, state_dir=tmp_path), topics.TOPOLOGY)
    worker.path.write_bytes(damaged(saved(worker.engine)))
    refused = REGISTRY.get_sample_value(*REFUSED) or 0.0
    with capture_logs() as logged:
        assert worker.load(5) == "snapshot refused"
    assert REGISTRY.get_sample_value(*REFUSED) == refused + 1
    assert [entry["log_level"] for entry in logged] == ["warning"]
    assert "bytes" in logged[0]["error"]
    assert worker.mark == Mark({}, 5)
    worker.save()
    assert worker.load(6) == "snapshot loaded"
    assert worker.mark == Mark({}, 5)
