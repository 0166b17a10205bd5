import math

import numpy as np

from export.remote_write.encoder import encode_request
from export.remote_write.targets import BatchOutcome, TargetState
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import SeriesTable
from tests.unit.export.batch_factory import T0, S, batch, table
from tests.unit.export.prompb import flat

MS0 = T0 // 1_000_000
OWN = ("up", "scrape_duration_seconds")


def shown(outcome: BatchOutcome) -> list[tuple[str, float | None, int]]:
    """GPU number (or own metric), value and milliseconds since T0; a stale marker is None."""
    rows: list[tuple[str, float | None, int]] = []
    for name, value, time_ms in flat(encode_request(outcome.blocks)) if outcome.blocks else []:
        short = name.split(" ")[0] if name.startswith(OWN) else name.rpartition("GPU-")[2]
        rows.append((short, None if math.isnan(value) else value, time_ms - MS0))
    return rows


def samples(outcome: BatchOutcome) -> list[tuple[str, float | None, int]]:
    return [row for row in shown(outcome) if row[0] not in OWN]


def state_after(*batches: SampleBatch, send_late: bool = False) -> TargetState:
    state = TargetState(batches[0].table, {}, send_late=send_late)
    for each in batches:
        state.process(each)
    return state


def test_a_collection_becomes_its_samples_and_up():
    outcome = TargetState(table(), {}, send_late=False).process(batch())
    assert shown(outcome) == [("0", 0, 0), ("1", 1, 0), ("2", 2, 0), ("up", 1, 0), ("scrape_duration_seconds", 0.25, 0)]
    assert (outcome.sent, outcome.duplicates, outcome.late) == (3, 0, 0)


def test_up_names_device_and_target():
    outcome = TargetState(table(), {"cluster": "c"}, send_late=False).process(batch())
    names = [name for name, _, _ in flat(encode_request(outcome.blocks))]
    assert "up cluster=c device=node1 target=dcgm/node1:9400" in names


def test_a_target_that_goes_down_ends_its_series_once():
    state = state_after(batch(T0))
    first = state.process(batch(T0 + 10 * S, down=DownReason.TIMEOUT))
    assert samples(first) == [("0", None, 10_000), ("1", None, 10_000), ("2", None, 10_000)]
    assert ("up", 0, 10_000) in shown(first)
    assert shown(state.process(batch(T0 + 20 * S, down=DownReason.TIMEOUT))) == [
        ("up", 0, 20_000),
        ("scrape_duration_seconds", 0.25, 20_000),
    ]
    assert len(samples(state.process(batch(T0 + 30 * S)))) == 3


def test_a_series_that_left_the_table_ends_and_one_that_stays_goes_on():
    state = state_after(batch(T0, table(3)))
    outcome = state.process(batch(T0 + 10 * S, table(3, first=1)))
    assert samples(outcome) == [("0", None, 10_000), ("1", 0, 10_000), ("2", 1, 10_000), ("3", 2, 10_000)]


def test_a_new_table_does_not_forget_what_was_sent():
    outcome = state_after(batch(T0, table(3))).process(batch(T0, table(3, first=1)))
    assert samples(outcome) == [("0", None, 1), ("3", 2, 0)]
    assert outcome.duplicates == 2


def test_a_series_that_a_streaming_target_does_not_repeat_lives_on():
    state = state_after(batch(T0))
    assert samples(state.process(batch(T0 + 10 * S, rows=[1]))) == [("1", 1, 10_000)]


def test_the_end_never_precedes_the_last_sample():
    state = state_after(batch(T0, times_ns=[T0 + 5 * S] * 3))
    assert samples(state.process(batch(T0 + 1 * S, down=DownReason.RESET)))[0] == ("0", None, 5_001)


def test_repetitions_and_late_samples_are_dropped_and_counted():
    state = state_after(batch(T0 + 10 * S))
    again = state.process(batch(T0 + 10 * S))
    assert (shown(again), again.duplicates) == ([], 3)
    late = state.process(batch(T0 + 9 * S))
    assert (shown(late), late.late) == ([], 3)


def test_late_samples_go_where_the_receiver_accepts_them():
    outcome = state_after(batch(T0 + 10 * S), send_late=True).process(batch(T0 + 9 * S))
    assert [row[2] for row in samples(outcome)] == [9_000] * 3
    assert outcome.late == 0


def test_within_a_batch_order_is_made_and_the_last_of_equal_times_wins():
    times = [T0 + 3 * S, T0 + 1 * S, T0 + 2 * S, T0 + 3 * S]
    outcome = TargetState(table(), {}, send_late=False).process(
        batch(rows=[1, 0, 1, 1], values=[5.0, 6.0, 7.0, 8.0], times_ns=times)
    )
    assert samples(outcome) == [("0", 6, 1_000), ("1", 7, 2_000), ("1", 8, 3_000)]
    assert outcome.duplicates == 1


def test_unusable_series_are_counted_and_the_rest_goes():
    keys = ('a{device="d"}', "broken", 'c{device="d"}')
    outcome = TargetState(SeriesTable("t", "d", keys), {}, send_late=False).process(
        batch(of=SeriesTable("t", "d", keys), values=[1.0, math.inf, -math.inf])
    )
    assert [row[:2] for row in flat(encode_request(outcome.blocks))][:2] == [
        ("a device=d", 1.0),
        ("c device=d", -math.inf),
    ]
    assert (outcome.sent, outcome.unusable) == (2, 1)


def test_every_sample_is_accounted_for():
    random = np.random.default_rng(1)
    state = TargetState(table(20), {}, send_late=False)
    for _ in range(50):
        n = int(random.integers(1, 60))
        times = (T0 + random.integers(0, 40, n) * S).tolist()
        outcome = state.process(batch(of=table(20), rows=random.integers(0, 20, n).tolist(), times_ns=times))
        assert outcome.sent + outcome.duplicates + outcome.late + outcome.unusable + outcome.down == n
        assert len(samples(outcome)) == outcome.sent
