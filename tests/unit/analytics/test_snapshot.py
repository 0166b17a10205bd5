"""Snapshots: an engine cut anywhere and restored goes on bit by bit; a damaged file is never loaded."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics import snapshot
from analytics.engine import Engine, Output
from analytics.snapshot import Mark
from telemetry.errors import BadInput
from telemetry.facts import encode_fact
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches, new_engine
from tests.unit.analytics.small_cluster import CONFIG

BATCHES = batches()
MARK = Mark({("fabricscope.samples.v1", 0): 17}, 123)


def begun() -> Engine:
    engine: Engine = new_engine()
    engine.learn(FACTS)
    for change in CHANGES:
        engine.note(change)
    return engine


def told(engine: Engine, part: slice) -> list[bytes]:
    outputs: list[Output] = []
    for each in BATCHES[part]:
        engine.observe(each)
        outputs.extend(engine.advance())
    return [encode_fact(output) for output in outputs]


WHOLE = begun()
REFERENCE = told(WHOLE, slice(None))


@settings(max_examples=8, deadline=None)
@given(cut=st.integers(0, len(BATCHES)))
def test_a_restored_engine_continues_bit_by_bit(cut: int) -> None:
    first = begun()
    before = told(first, slice(0, cut))
    second: Engine = new_engine()
    assert snapshot.unpack(snapshot.pack(first, MARK), second) == MARK
    assert before + told(second, slice(cut, None)) == REFERENCE
    assert second.counts == WHOLE.counts
    for name, array in WHOLE.series.state().items():
        assert np.array_equal(array, second.series[name], equal_nan=array.dtype.kind == "f"), name


def test_state_that_was_restored_packs_to_the_same_bytes() -> None:
    engine: Engine = new_engine()
    content = snapshot.pack(WHOLE, MARK)
    snapshot.unpack(content, engine)
    assert snapshot.pack(engine, MARK) == content


@pytest.mark.parametrize("position", [0, 5, 20, 1000, -1])
def test_one_flipped_bit_is_noticed(position: int) -> None:
    content = bytearray(snapshot.pack(WHOLE, MARK))
    content[position] ^= 4
    with pytest.raises(BadInput):
        snapshot.unpack(bytes(content), new_engine())


def test_a_torn_file_is_noticed() -> None:
    content = snapshot.pack(WHOLE, MARK)
    with pytest.raises(BadInput, match="checksum"):
        snapshot.unpack(content[: len(content) // 2], new_engine())


def test_another_configuration_does_not_take_the_state() -> None:
    other = Engine(CONFIG.model_copy(update={"interval_s": 2.0}))
    with pytest.raises(BadInput, match="configuration"):
        snapshot.unpack(snapshot.pack(WHOLE, MARK), other)


def test_saving_replaces_the_file_and_leaves_no_draft(tmp_path: Path) -> None:
    path = tmp_path / "state" / "analytics.snapshot"
    snapshot.save(path, b"old")
    snapshot.save(path, b"new")
    assert path.read_bytes() == b"new"
    assert [entry.name for entry in path.parent.iterdir()] == ["analytics.snapshot"]
