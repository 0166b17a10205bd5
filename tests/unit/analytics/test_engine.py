"""The engine: the same telemetry gives the same findings and incidents, whatever way it came; every sample counted."""

from collections.abc import Sequence
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.engine import Engine, Output
from analytics.state import rates
from analytics.view import reported
from analytics.worker import build_engine
from telemetry.codec.records import encode_record
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from tests.unit.analytics.busy_cluster import CHANGES, FACTS, batches, new_engine
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, port_key, run, table

BATCHES = batches()
NS = 10**9


def published(outputs: Sequence[Output]) -> list[bytes]:
    return [encode_record(output) for output in outputs]


def prepared() -> Engine:
    engine: Engine = new_engine()
    engine.add_facts(FACTS)
    for change in CHANGES:
        engine.add_change(change)
    return engine


def balance(engine: Engine) -> int:
    counts = engine.counts
    dropped = sum(counts.dropped.values())
    return counts.samples_in - counts.processed - counts.deduplicated - dropped - counts.held


REFERENCE_ENGINE = prepared()
REFERENCE = published(run(REFERENCE_ENGINE, BATCHES))


def test_the_reference_has_something_to_compare() -> None:
    engine = prepared()
    outputs = run(engine, BATCHES)
    kinds = {output.kind for output in outputs if isinstance(output, Finding)}
    assert kinds == {FindingKind.STRAGGLER, FindingKind.LINK_DOWN, FindingKind.PFC_PAUSE_RECEIVED}
    assert any(not isinstance(output, Finding) for output in outputs)
    assert balance(engine) == 0


def shuffled_within(holdback_ns: int, keys: Sequence[int]) -> list[SampleBatch]:
    """Each batch delayed by less than the holdback."""
    delays = [keys[i % len(keys)] % holdback_ns for i in range(len(BATCHES))]
    order = sorted(range(len(BATCHES)), key=lambda i: (BATCHES[i].collection.collected_ns + delays[i], i))
    return [BATCHES[i] for i in order]


delays = st.lists(st.integers(0, 2**40), min_size=1, max_size=40)


@settings(max_examples=12, deadline=None)
@given(keys=delays, portion=st.integers(1, 40), copies=st.integers(1, 3))
def test_order_portions_and_duplicates_change_nothing(keys: list[int], portion: int, copies: int) -> None:
    engine, outputs = prepared(), list[Output]()
    stream = [each for each in shuffled_within(CONFIG.holdback_ns, keys) for _ in range(copies)]
    for start in range(0, len(stream), portion):
        for each in stream[start : start + portion]:
            engine.observe(each)
        outputs.extend(engine.advance())
    assert published(outputs) == REFERENCE
    assert balance(engine) == 0
    assert engine.counts.processed == REFERENCE_ENGINE.counts.processed
    assert not engine.counts.dropped


FIVE_MINUTES = CONFIG.model_copy(update={"holdback_s": 300.0})


@settings(max_examples=3, deadline=None)
@given(keys=delays)
def test_what_is_up_to_five_minutes_late_gives_the_result_of_sorted_input(keys: list[int]) -> None:
    """Where ``holdback_s`` says so. The clock's last collection closes every tick."""
    end = batch(table("clock", [port_key("fabric_port_up", device="clock")]), 500, [1.0])
    found, expected = (
        run(build_engine(FIVE_MINUTES), [*stream, end])
        for stream in (shuffled_within(FIVE_MINUTES.holdback_ns, keys), BATCHES)
    )
    assert published(found) == published(expected)
    assert len(expected) > 5


def test_a_counter_that_starts_again_keeps_its_baseline() -> None:
    port = table("leaf1", [port_key("fabric_port_receive_bytes_total")])
    counts = [1e9 + 1e6 * seq for seq in range(60)]
    engine = Engine(CONFIG)
    run(engine, (batch(port, seq, [count]) for seq, count in enumerate(counts)))
    learned = engine.series.columns["baseline"].copy()
    run(engine, [batch(port, 60, [5.0])])
    engine.observe(batch(table("clock", [port_key("fabric_port_up", device="clock")]), 61, [1.0]))
    assert engine.advance() == []
    assert engine.series.columns["status"][0] == rates.RESET
    np.testing.assert_array_equal(engine.series.columns["baseline"][:1], learned)


def test_facts_hold_from_their_own_time_whenever_they_are_learned() -> None:
    engine, outputs = prepared(), list[Output]()
    for each in BATCHES:
        engine.observe(each)
    outputs.extend(engine.advance())
    assert published(outputs) == REFERENCE


def test_event_times_far_ahead_are_counted_and_do_not_run_the_watermark_away() -> None:
    leaf = table("leaf1", [port_key("fabric_port_up")])
    ahead = batch(leaf, 0, [1.0])
    future = SampleBatch(leaf, ahead.collection, ahead.times_ns + 3600 * NS, ahead.series, ahead.values)
    engine = Engine(CONFIG)
    run(engine, [future, *(batch(leaf, seq, [1.0]) for seq in range(1, 4))])
    assert engine.counts.dropped == {"clock_ahead": 1}
    assert engine.counts.processed == 2
    assert balance(engine) == 0


def test_infinite_and_disordered_samples_are_counted() -> None:
    leaf = table("leaf1", [port_key("fabric_port_up")])
    second = batch(leaf, 2, [0.0])
    old = SampleBatch(leaf, second.collection, second.times_ns - 20 * NS, second.series, second.values)
    engine = Engine(CONFIG)
    run(engine, [batch(leaf, 0, [1.0]), batch(leaf, 1, [float("inf")]), old, *(batch(leaf, n, [1.0]) for n in (3, 6))])
    assert engine.counts.dropped == {"not_finite": 1, "out_of_order": 1}
    assert balance(engine) == 0


@pytest.mark.parametrize(
    ("metric", "rates"),
    [
        ("fabric_queue_ecn_marked_packets_total", {100.0}),  # SONiC counts queues every ten seconds
        ("fabric_port_receive_bytes_total", {0.0, 500.0}),  # and ports every second: it did stand still
    ],
)
def test_a_repetition_within_the_refresh_period_of_its_source_is_no_rate(metric: str, rates: set[float]) -> None:
    leaf = table("leaf1", [port_key(metric), port_key("fabric_port_up")])
    engine, seen = Engine(CONFIG.model_copy(update={"interval_s": 2.0})), set[float]()
    for seq in range(40):
        run(engine, [batch(leaf, seq, [1000.0 * (seq // 5), float(seq % 2)], at_s=2 * seq)])
        value, valued_ns = engine.series.columns["value"][:1], engine.series.columns["valued_ns"][:1]
        if value.size and value[0] == value[0]:
            seen.add(float(value[0]))
            assert valued_ns[0] >= START_NS + 2 * seq * NS - 5 * NS  # held, so never stale
    assert seen == rates


def test_series_beyond_the_limit_are_cut_and_the_others_go_on() -> None:
    leaf = table("leaf1", [port_key("fabric_port_up", f"Ethernet{n}") for n in range(8)])
    engine = Engine(CONFIG.model_copy(update={"series_max": 5}))
    run(engine, [batch(leaf, seq, [1.0] * 8) for seq in range(4)])
    assert len(engine.registry) == 5
    assert engine.counts.dropped == {"too_many_series": 9}
    assert balance(engine) == 0


def test_series_that_went_silent_are_forgotten() -> None:
    engine = Engine(CONFIG.model_copy(update={"series_ttl_s": 160.0}))
    for generation in range(6):
        keys = [port_key("fabric_port_up", f"Ethernet{generation}-{n}") for n in range(20)]
        leaf = table("leaf1", keys)
        run(engine, [batch(leaf, generation * 32 + seq, [1.0] * 20) for seq in range(32)])
    assert len(engine.registry) <= 40
    assert len(engine.registry.objects) <= 45
    assert balance(engine) == 0


def test_what_has_findings_is_worked_out_once_while_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each tick asks for it to process its samples and to judge them."""
    asked = Mock(wraps=reported._reported_series)
    monkeypatch.setattr(reported, "_reported_series", asked)
    engine, ticks = Engine(CONFIG), list[int]()
    of = table("node1", [port_key("fabric_port_up", device="node1")])
    for seq in range(10):
        engine.observe(batch(of, seq, [1.0]))
        for end_ns, batches_of_tick in engine.window.pop_closed():
            ticks.append(end_ns)
            engine._close(end_ns, batches_of_tick)
    assert len(ticks) > 10
    assert asked.call_count == 1
