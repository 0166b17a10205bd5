"""A window that goes on with ticks of another length: nothing is processed twice, lost, or held for ever."""

from collections import Counter

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analytics.config import EngineConfig
from analytics.snapshot.stateful import State
from analytics.window.watermark import TickWindow
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import batch, table

TABLES = [table(name, [series_key("node_load_1m", {"device": name})]) for name in ("a", "b")]
BATCHES = [batch(of, seq, [1.0], at_s=10 * seq + 3 * at) for seq in range(12) for at, of in enumerate(TABLES)]
AFTER = [batch(TABLES[0], seq, [1.0], at_s=10 * seq) for seq in range(30, 34)]  # closes everything before
Processed = Counter[tuple[str, int]]


def stored(window: TickWindow) -> State:
    head, arrays = window.state()
    return State(orjson.loads(orjson.dumps(head)), arrays)


def closed(window: TickWindow) -> list[tuple[int, list[SampleBatch]]]:
    return [(end_ns, batches) for end_ns, batches in window.pop_closed()]


def names_of(ticks: list[tuple[int, list[SampleBatch]]]) -> Processed:
    return Counter((each.table.target, each.collection.seq) for _, batches in ticks for each in batches)


@settings(max_examples=30, deadline=None)
@given(
    cut=st.integers(0, len(BATCHES)),
    popped=st.booleans(),
    interval_s=st.sampled_from([1.0, 3.7, 10.0, 25.0, 60.0]),
    holdback_s=st.sampled_from([None, 0.0, 40.0]),
)
def test_every_batch_is_processed_once_whatever_the_new_ticks(
    cut: int, popped: bool, interval_s: float, holdback_s: float | None
) -> None:
    first, second = TickWindow(EngineConfig()), TickWindow(EngineConfig(interval_s=interval_s, holdback_s=holdback_s))
    for each in BATCHES[:cut]:
        first.add(each)
    ticks = closed(first) if popped else []
    second.restore(stored(first))
    assert second.watermark_ns == first.watermark_ns
    for each in [*BATCHES[:cut], *BATCHES[cut:], *AFTER]:  # what was read is delivered again
        second.add(each)
        ticks += closed(second)
    known = names_of(ticks)
    assert max(known.values()) == 1
    assert known.keys() >= {(each.table.target, each.collection.seq) for each in BATCHES}
    ends = [end_ns for end_ns, _ in ticks]
    assert ends == sorted(set(ends))
    counts = second.counts
    assert counts.samples_in == counts.deduplicated + sum(counts.dropped.values()) + counts.held + known.total()
    assert counts.deduplicated + sum(counts.dropped.values()) == cut


@pytest.mark.parametrize("holdback_s", [5.0, 60.0])
def test_a_longer_holdback_does_not_open_what_was_closed(holdback_s: float) -> None:
    first, second = TickWindow(EngineConfig()), TickWindow(EngineConfig(holdback_s=holdback_s))
    for each in BATCHES:
        first.add(each)
    closed(first)
    second.restore(stored(first))
    second.add(batch(TABLES[1], 99, [1.0], at_s=20.0))
    assert second.counts.dropped == {"late": 1}
    assert second.counts.held == first.counts.held
