"""What is logged as events, with which bounds. One row a collection, ten seconds apart."""

from collections.abc import Sequence

import orjson
import pytest

from analytics.engine import Engine
from analytics.snapshot.stateful import State
from telemetry.codec.records import decode_record, encode_record
from telemetry.events import Event, EventKind, EventState
from telemetry.series import series_key
from tests.unit.analytics.small_cluster import CONFIG, SECOND, START_NS, batch, clockwork, port_key, run, table

PAUSED = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx")
FRAMES = port_key("fabric_port_pfc_pause_frames_total", priority="3", direction="rx")
BEGAN = port_key("fabric_port_pfc_recent_pause_timestamp_seconds", priority="3", direction="rx")
LASTED = port_key("fabric_port_pfc_recent_pause_estimated_seconds", priority="3", direction="rx")
UP = port_key("fabric_port_up")
STORM = port_key("fabric_pfc_watchdog_operational", queue="3")
SESSION = series_key("fabric_bgp_session_up", {"device": "leaf1", "peer": "10.0.0.1"})
XIDS = series_key("gpu_xid_errors_total", {"device": "leaf1", "gpu": "GPU-1", "xid": "79"})
BOOT = series_key("node_boot_time_seconds", {"device": "leaf1"})
START_S = START_NS // SECOND


def logged(keys: Sequence[str], rows: Sequence[Sequence[float]], *, every: int = 1) -> list[Event]:
    of, engine, events = table("leaf1", keys), Engine(CONFIG), []
    batches = [*(batch(of, n, row) for n, row in enumerate(rows)), *clockwork(0, range(len(rows), len(rows) + 2))]
    for at in range(0, len(batches), every):
        run(engine, batches[at : at + every])
        events += engine.events.pop_due()
    return events


def at(event: Event) -> tuple[float, ...]:
    times = event.began_after_ns, event.began_by_ns, event.ended_after_ns, event.ended_by_ns
    return tuple((each - START_NS) / SECOND for each in times)


def test_a_pause_lies_between_the_readings_that_show_it() -> None:
    opened, ended = logged([PAUSED], [[5], [5], [7], [8], *[[8]] * 8])
    assert (opened.kind, opened.state, ended.state) == (EventKind.PFC_PAUSE, EventState.OPEN, EventState.ENDED)
    assert (ended.priority, ended.direction, ended.amount, ended.count, ended.id) == ("3", "rx", 3.0, 1, opened.id)
    assert at(ended) == (10, 20, 20, 40)
    assert (ended.at_least_s, ended.at_most_s) == (3.0, 30.0)


def test_pauses_within_a_minute_are_one() -> None:
    *_, ended = logged([PAUSED], [[0], [1], [1], [2], *[[2]] * 8])
    assert (ended.count, ended.amount, at(ended)) == (2, 2.0, (0, 10, 20, 40))


def test_brief_pauses_are_summed_by_the_hour() -> None:
    (summed,) = logged([PAUSED], [[n * 0.03] for n in range(400)])
    assert (summed.kind, summed.count) == (EventKind.PFC_BRIEF_PAUSES, 359)  # of 10 s to 3590 s
    assert summed.amount == pytest.approx(10.77)


def test_frames_count_where_no_time_does() -> None:
    assert logged([FRAMES], [[0], [0], [9000]])[0].source == "fabric_port_pfc_pause_frames_total"
    assert [one.source for one in logged([FRAMES, PAUSED], [[0, 0], [0, 0], [9000, 2]])] == [
        "fabric_port_pfc_pause_seconds_total"
    ]


def test_a_pause_is_exact_where_the_switch_has_its_time() -> None:
    begun = START_S + 12.5
    rows: list[list[float]] = [[0, 0, 0], [0, 0, 0], *[[2, begun, 2]] * 9]
    *_, ended = logged([PAUSED, BEGAN, LASTED], rows)
    assert at(ended) == (12.5, 12.5, 14.5, 14.5)
    # The newest pause is not all of them.
    several: list[list[float]] = [[0, 0, 0], [0, 0, 0], *[[4, begun, 2]] * 9]
    assert at(logged([PAUSED, BEGAN, LASTED], several)[-1]) == (10, 20, 10, 30)


@pytest.mark.parametrize(
    ("key", "kind"),
    [(UP, EventKind.LINK_DOWN), (STORM, EventKind.PFC_WATCHDOG), (SESSION, EventKind.BGP_DOWN)],
)
def test_a_state_that_is_not_well(key: str, kind: EventKind) -> None:
    *_, ended = logged([key], [[1], [1], [0], [0], *[[1]] * 8])
    assert (ended.kind, at(ended)) == (kind, (10, 20, 30, 40))
    assert not logged([key], [[0]] * 5)


def test_xids_are_counted_and_named() -> None:
    *_, ended = logged([XIDS], [[0], [0], [3], *[[3]] * 8])
    assert (ended.kind, ended.detail, ended.count) == (EventKind.XID, "XID 79", 3)
    assert at(ended) == (10, 20, 10, 20)


def test_a_reboot_has_the_time_of_the_boot() -> None:
    *_, ended = logged([BOOT], [[START_S - 900], [START_S - 900], *[[START_S + 13]] * 9])
    assert (ended.kind, at(ended)[:2]) == (EventKind.REBOOT, (13, 13))


def test_portions_and_a_restart_change_no_byte() -> None:
    rows = [[n * 0.03 + 2.0 * (n % 40 > 37), float(n % 50 != 7)] for n in range(400)]
    one_by_one = [encode_record(each) for each in logged([PAUSED, UP], rows)]
    assert one_by_one == [encode_record(each) for each in logged([PAUSED, UP], rows, every=37)]
    assert len(one_by_one) > 10
    assert [encode_record(decode_record(each, Event)) for each in one_by_one] == one_by_one


def test_a_log_goes_on_from_its_state() -> None:
    of, engine, restored = table("leaf1", [PAUSED, UP]), Engine(CONFIG), Engine(CONFIG)
    run(engine, [batch(of, n, [2.0 * min(n, 3), float(n != 3)]) for n in range(5)])
    assert {each.kind for each in engine.events.pop_due()} == {EventKind.PFC_PAUSE, EventKind.LINK_DOWN}
    state = engine.events.state()
    restored.events.restore(State(orjson.loads(orjson.dumps(state.head)), state.arrays))
    assert orjson.dumps(restored.events.state().head) == orjson.dumps(state.head)
