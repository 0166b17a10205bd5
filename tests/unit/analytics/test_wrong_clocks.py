"""Clocks that are wrong: of one ingest host, of all, for a while. Nothing may be blind for longer than a minute."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import pytest

from analytics.correlate.correlator import Correlator
from analytics.engine import Engine, Output
from telemetry.codec.records import encode_record
from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable, series_key
from tests.unit.analytics.busy_cluster import FACTS, batches, new_engine
from tests.unit.analytics.restart import restarted
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, batch

HOUR_NS = 3600 * SECOND
Appended = tuple[SampleBatch, int]
"""A batch, and when the bus took it."""
BATCHES = batches()
OTHER = SeriesTable("node/far", "far", (series_key("node_load_1m", {"device": "far"}),))


def moved(one: SampleBatch, by_ns: int) -> SampleBatch:
    """As a collector takes it whose clock is ahead by so much."""
    collected = replace(one.collection, collected_ns=one.collection.collected_ns + by_ns)
    return replace(one, collection=collected, times_ns=one.times_ns + by_ns)


def at_once(all_of: Iterable[SampleBatch], by_ns: int = 0) -> list[Appended]:
    """On the bus a moment later. by_ns: what both clocks are ahead by."""
    return [(moved(one, by_ns), one.collection.collected_ns + by_ns + SECOND // 20) for one in all_of]


def far(seqs: Iterable[int], ahead_ns: int) -> list[Appended]:
    """Collections of another ingest host, whose clock alone is ahead."""
    right = [batch(OTHER, seq, [1.0]) for seq in seqs]
    return [(moved(one, ahead_ns), one.collection.collected_ns + SECOND // 20) for one in right]


def in_order(*streams: list[Appended]) -> list[Appended]:
    return sorted((each for stream in streams for each in stream), key=lambda appended: appended[1])


def published(engine: Engine, stream: Sequence[Appended], portion: int = 1) -> list[Output]:
    engine.add_facts(FACTS)
    outputs: list[Output] = []
    for start in range(0, len(stream), portion):
        for one, appended_ns in stream[start : start + portion]:
            engine.observe(one, appended_ns)
        outputs += engine.advance()
    counts = engine.counts
    dropped = sum(counts.dropped.values())
    assert counts.samples_in == counts.processed + counts.deduplicated + dropped + counts.held
    return outputs


def encoded(outputs: Iterable[Output]) -> list[bytes]:
    return [encode_record(output) for output in outputs]


REFERENCE = encoded(published(new_engine(), at_once(BATCHES)))


def test_the_reference_has_incidents() -> None:
    assert any(isinstance(output, Incident) for output in published(new_engine(), at_once(BATCHES)))


def test_an_ingest_host_that_is_an_hour_ahead_for_ten_collections_blinds_nobody() -> None:
    engine = new_engine()
    outputs = published(engine, in_order(at_once(BATCHES), far(range(5, 15), HOUR_NS)))
    assert encoded(outputs) == REFERENCE
    assert engine.counts.dropped == {"ingest_clock_ahead": 10}
    assert engine.window.ahead == {"node/far": HOUR_NS - SECOND // 20}


@pytest.mark.parametrize("ahead_s", [7, 30, 59])
def test_an_ingest_host_that_is_some_seconds_ahead_makes_nobody_late(ahead_s: int) -> None:
    engine = new_engine()
    published(engine, in_order(at_once(BATCHES), far(range(40), ahead_s * SECOND)))
    assert engine.counts.dropped == {}


def test_without_append_times_the_newest_collection_is_the_time() -> None:
    engine = new_engine()
    for one, _ in in_order(at_once(BATCHES[:20]), far([1], 50 * SECOND)):
        engine.observe(one)
    assert engine.counts.dropped.keys() == {"late"}


def wrong_hour(engine: Engine, portion: int = 1) -> list[Output]:
    """All clocks are right for a while, then an hour ahead, with the fault of the busy cluster, then right again."""
    wrong = [moved(one, -10 * INTERVAL_S * SECOND) for one in BATCHES]
    begin_ns = max(one.collection.collected_ns for one in BATCHES)
    after = [
        replace(
            moved(one, begin_ns - BATCHES[0].collection.collected_ns + SECOND),
            collection=replace(
                moved(one, begin_ns - BATCHES[0].collection.collected_ns + SECOND).collection,
                seq=1000 + n,
            ),
        )
        for n, one in enumerate(BATCHES)
    ]
    return published(engine, [*at_once(wrong[:50]), *at_once(BATCHES, HOUR_NS), *at_once(after)], portion)


def test_clocks_that_go_back_begin_a_new_time_after_a_minute() -> None:
    engine = new_engine()
    outputs = wrong_hour(engine)
    assert engine.times_gone_back == 1
    per_interval = sum(map(len, BATCHES)) / 40
    assert engine.counts.dropped["late"] <= 8 * per_interval
    newest_ns = max(one.collection.collected_ns for one in BATCHES)
    again = {
        (each.kind, str(each.root)) for each in outputs if isinstance(each, Incident) and each.updated_ns > newest_ns
    }
    assert engine.window.watermark_ns < newest_ns + HOUR_NS
    assert again


def test_what_was_open_when_the_clocks_went_back_is_resolved() -> None:
    engine = new_engine()
    newest: dict[str, Output] = {each.id: each for each in wrong_hour(engine)}
    wrong_ns = max(one.collection.collected_ns for one in BATCHES) + HOUR_NS // 2
    incidents = [each for each in newest.values() if isinstance(each, Incident) and each.onset_ns > wrong_ns]
    findings = [each for each in newest.values() if isinstance(each, Finding) and each.onset_ns > wrong_ns]
    assert incidents
    assert {each.state for each in incidents} == {IncidentState.RESOLVED}
    assert {each.state for each in findings} == {FindingState.CLEARED}


@pytest.mark.parametrize("portion", [7, 60, 1000])
def test_portions_change_nothing_when_the_clocks_go_back(portion: int) -> None:
    assert encoded(wrong_hour(new_engine(), portion)) == encoded(wrong_hour(new_engine()))


def test_a_snapshot_in_between_changes_nothing() -> None:
    stream = [*at_once(BATCHES, HOUR_NS), *at_once(BATCHES)]
    whole, first, then = new_engine(), new_engine(), new_engine()
    middle = len(BATCHES) + 15  # half of the minute has passed
    begun = published(first, stream[:middle])
    restarted(first, then)
    continued: list[Output] = []
    for one, appended_ns in stream[middle:]:
        then.observe(one, appended_ns)
        continued += then.advance()
    assert then.times_gone_back == 1
    assert encoded(begun + continued) == encoded(published(whole, stream))


def test_a_gap_is_not_a_wrong_clock() -> None:
    engine = new_engine()
    published(engine, [*at_once(BATCHES), *at_once(BATCHES, 5 * HOUR_NS)])
    assert engine.counts.dropped == {}
    assert engine.times_gone_back == 0


def test_late_batches_beside_others_move_no_time() -> None:
    """A collector that is behind by an hour, for as long as it likes."""
    engine = Engine(CONFIG, Correlator())
    behind = [(moved(batch(OTHER, seq, [1.0]), -HOUR_NS), at) for seq, (_, at) in enumerate(at_once(BATCHES))]
    outputs = published(engine, in_order(at_once(BATCHES), behind))
    assert engine.times_gone_back == 0
    assert engine.counts.dropped == {"late": len(behind)}
    assert encoded(outputs) == REFERENCE
