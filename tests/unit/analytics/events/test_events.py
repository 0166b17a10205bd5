"""What is logged as events, with which bounds. One row a collection, ten seconds apart."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from analytics.engine import Engine
from analytics.events import watch
from analytics.events.watch import EventDrop
from analytics.snapshot import snapshot, state_file
from analytics.snapshot.snapshot import Loaded
from telemetry.codec.records import decode_record, encode_record
from telemetry.events import Event, EventKind, EventState
from telemetry.series import series_key
from tests.unit.analytics.restart import MARK, restarted
from tests.unit.analytics.small_cluster import (
    CONFIG,
    INTERVAL_S,
    SECOND,
    START_NS,
    batch,
    clockwork,
    port_key,
    run,
    table,
)

PAUSED = port_key("fabric_port_pfc_pause_seconds_total", priority="3", direction="rx")
FRAMES = port_key("fabric_port_pfc_pause_frames_total", priority="3", direction="rx")
BEGAN = port_key("fabric_port_pfc_recent_pause_timestamp_seconds", priority="3", direction="rx")
LASTED = port_key("fabric_port_pfc_recent_pause_estimated_seconds", priority="3", direction="rx")
UP = port_key("fabric_port_up")
STORM = port_key("fabric_pfc_watchdog_operational", queue="3")
SESSION = series_key("fabric_bgp_session_up", {"device": "leaf1", "peer": "10.0.0.1"})
XIDS = series_key("gpu_xid_errors_total", {"device": "leaf1", "gpu": "GPU-1", "xid": "79"})
FLAPS = port_key("fabric_port_flaps_total")
DOWNED = series_key("ib_port_link_downed_total", {"device": "leaf1", "port": "1"})
PHYSICAL = series_key("ib_port_physical_state", {"device": "leaf1", "port": "1"})
UPTIME = series_key("fabric_device_uptime_seconds", {"device": "leaf1"})
SXIDS = series_key(
    "nvswitch_sxid_errors_total",
    {"device": "leaf1", "nvswitch": "nvswitch3", "sxid": "12028", "severity": "non_fatal", "link": "32"},
)
SXID_LAST = series_key("nvswitch_sxid_last", {"device": "leaf1", "nvswitch": "nvswitch3", "severity": "fatal"})
BOOT = series_key("node_boot_time_seconds", {"device": "leaf1"})
PROCESS = series_key(
    "nccl_process_event_timestamp_seconds",
    {"device": "leaf1", "job_id": "7", "process": "42", "gpus": "0,1", "event": "dead"},
)
LOG_ENTRY = series_key(
    "node_bmc_event_timestamp_seconds",
    {
        "device": "leaf1",
        "severity": "critical",
        "sensor": "Temperature 1",
        "event": "Assert",
        "message_id": "0x592A28",
        "message": "Too hot",
        "part": "Chassis/1U/Thermal",
    },
)
PAUSE = "fabric_port_pfc_pause_seconds_total"
START_S = START_NS // SECOND


def logged(
    keys: Sequence[str], rows: Sequence[Sequence[float]], *, every: int = 1, restarts: Sequence[int] = ()
) -> list[Event]:
    """restarts: numbers of batches before which another engine goes on from the snapshot of this one."""
    of, engine, events = table("leaf1", keys), Engine(CONFIG), []
    batches = [*(batch(of, n, row) for n, row in enumerate(rows)), *clockwork(0, range(len(rows), len(rows) + 2))]
    for at in range(0, len(batches), every):
        if at in restarts:
            engine = restarted(engine, Engine(CONFIG))
        run(engine, batches[at : at + every])
        events += engine.events.pop_due()
    return events


def at_row(number: int) -> int:
    return START_NS + number * INTERVAL_S * SECOND


def at(event: Event) -> tuple[float, ...]:
    times = event.began_after_ns, event.began_by_ns, event.ended_after_ns, event.ended_by_ns
    return tuple((each - START_NS) / SECOND for each in times)


def test_a_pause_lies_between_the_readings_that_show_it() -> None:
    opened, ended = logged([PAUSED], [[5], [5], [7], [8], *[[8]] * 8])
    assert (opened.kind, opened.state, ended.state) == (EventKind.PFC_PAUSE, EventState.OPEN, EventState.ENDED)
    assert (ended.priority, ended.direction, ended.amount, ended.count, ended.id) == ("3", "rx", 3.0, 1, opened.id)
    assert at(ended) == (10, 20, 20, 40)
    assert (ended.at_least_s, ended.at_most_s) == (3.0, 30.0)


@pytest.mark.parametrize("at_s", [41, 42, 43, 44, 45])
def test_what_begins_and_counts_within_one_tick_is_an_event(at_s: float) -> None:
    """As the counts of a kernel log that is read every two seconds: 0, and the count in the next reading."""
    engine, of = Engine(CONFIG), table("leaf1", [XIDS])
    counted = [batch(of, n, [min(n, 1)], at_s=at_s + 2 * n) for n in range(40)]
    run(engine, sorted([*counted, *clockwork(0, range(14))], key=lambda each: each.collection.collected_ns))
    opened, ended = engine.events.pop_due()
    after_s, by_s, *_ = at(ended)
    assert (opened.kind, opened.count, after_s) == (EventKind.XID, 1, at_s)
    assert at_s + 2 <= by_s < at_s + 7  # the newest reading of its tick


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
    assert ended.where == "leaf1/GPU-1"
    assert at(ended) == (10, 20, 10, 20)


def test_sxids_say_where_and_how_grave() -> None:
    *_, ended = logged([SXIDS], [[0], [0], [2], *[[2]] * 8])
    assert (ended.kind, ended.count, str(ended.object)) == (EventKind.SXID, 2, "device:leaf1")
    assert ended.detail == "SXid 12028 on nvswitch3 link 32, non-fatal"
    *_, ended = logged([SXID_LAST], [[0], [0], *[[20034]] * 9])
    assert ended.detail == "SXid 20034 on nvswitch3, fatal"


def test_the_kernel_log_knows_sxids_better_than_dcgm() -> None:
    events = logged([SXIDS, SXID_LAST], [[0, 0], [0, 0], *[[1, 20034]] * 9])
    assert {each.source for each in events} == {"nvswitch_sxid_errors_total"}


def test_a_gpu_has_the_name_that_people_give_it() -> None:
    info = {"device": "leaf1", "gpu": "GPU-1", "index": "3", "serial": "1650321004242"}
    first, *_ = logged([XIDS, series_key("gpu_info", info)], [[0, 1], [0, 1], [1, 1]])
    assert first.where == "leaf1 GPU 3 (serial 1650321004242)"


def test_a_reboot_has_the_time_of_the_boot() -> None:
    *_, ended = logged([BOOT], [[START_S - 900], [START_S - 900], *[[START_S + 13]] * 9])
    assert (ended.kind, at(ended)[:2]) == (EventKind.REBOOT, (13, 13))


def test_a_switch_reboots_when_its_uptime_begins_again() -> None:
    *_, ended = logged([UPTIME], [[900], [910], *([n * 10 + 3.0] for n in range(9))])
    assert (ended.kind, ended.count, str(ended.object), at(ended)[:2]) == (
        EventKind.REBOOT,
        1,
        "device:leaf1",
        (17, 17),
    )


def test_a_switch_that_states_its_boot_time_reboots_once() -> None:
    booted = series_key("fabric_device_boot_time_seconds", {"device": "leaf1"})
    rows = [[START_S - 900.0, 900.0], [START_S - 900.0, 910.0], *([START_S + 13.0, n * 10 + 7.0] for n in range(9))]
    events = logged([booted, UPTIME], rows)
    assert [each.state for each in events] == [EventState.OPEN, EventState.ENDED]
    assert (events[0].source, at(events[0])[:2]) == ("fabric_device_boot_time_seconds", (13, 13))


@pytest.mark.parametrize("metric", ["node_boot_time_seconds", "fabric_device_boot_time_seconds"])
def test_a_boot_time_that_follows_a_clock_is_no_reboot(metric: str) -> None:
    booted = series_key(metric, {"device": "leaf1"})
    assert not logged([booted], [[START_S - 900.0 + moved] for moved in (0.0, 1.0, -1.0, 18.0, 0.0)])


def test_an_uptime_that_says_nothing_of_its_time_leaves_the_bounds() -> None:
    # It was shorter before, and yet longer than the time since the reading before: what counts is another clock.
    *_, ended = logged([UPTIME], [[9000], [9010], *([500 + n * 10.0] for n in range(9))])
    assert (ended.kind, at(ended)[:2]) == (EventKind.REBOOT, (10, 20))


def test_a_link_that_bounces_between_two_readings() -> None:
    opened, ended = logged([FLAPS, UP], [[4, 1], [4, 1], [6, 1], [10, 1], *[[10, 1]] * 8])
    assert (opened.kind, opened.source, opened.unit) == (EventKind.LINK_BOUNCED, "fabric_port_flaps_total", "outages")
    assert (ended.count, ended.amount, at(ended)) == (3, 3.0, (10, 20, 20, 30))


def test_an_adapter_counts_each_failure_of_its_link_once() -> None:
    *_, ended = logged([DOWNED, PHYSICAL], [[4, 5], [4, 5], [5, 5], *[[5, 5]] * 8])
    assert (ended.kind, ended.count, at(ended)[:2]) == (EventKind.LINK_BOUNCED, 1, (10, 20))


@pytest.mark.parametrize(
    ("keys", "rows"),
    [
        ([FLAPS, UP], [[4, 1], [5, 0], [6, 1], [6, 1]]),
        ([FLAPS, UP], [[4, 1], [4, 0], [4, 1], [6, 1], [6, 1]]),  # its count comes late
        ([DOWNED, PHYSICAL], [[4, 5], [5, 3], [5, 5], [5, 5]]),
        ([FLAPS, UP], [[4, 1], [5, 1], [5, 1]]),
        ([FLAPS, UP], [[90, 1], [2, 1], [2, 1]]),
        ([FLAPS], [[7], [7], [7]]),
    ],
    ids=["seen down", "seen down before", "seen down, InfiniBand", "half of it", "counters of a reboot", "nothing"],
)
def test_a_link_that_a_reading_shows_down_did_not_bounce(keys: list[str], rows: list[list[float]]) -> None:
    assert [each.kind for each in logged(keys, rows) if each.kind is EventKind.LINK_BOUNCED] == []


def test_a_count_without_a_state_shows_a_bounce_too() -> None:
    assert logged([FLAPS], [[4], [4], [6], [6]])[0].kind is EventKind.LINK_BOUNCED


def test_what_is_beyond_the_cap_is_summed_or_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "OPEN_MAX", 3)
    monkeypatch.setattr(watch, "BRIEF_NS", 600 * SECOND)
    engine, events = Engine(CONFIG), []
    keys = [port_key(PAUSE, f"Ethernet{n}", priority="3", direction="rx") for n in range(5)]
    of = table("leaf1", [*keys, *(port_key("fabric_port_up", f"Ethernet{n}") for n in range(5))])
    xids = [series_key("gpu_xid_errors_total", {"device": "leaf1", "gpu": f"GPU-{n}", "xid": "79"}) for n in range(5)]
    errors = table("leaf1", xids, "kernel")
    for n in range(70):
        run(engine, [batch(of, n, [2.0 * (n > 3)] * 5 + [float(n < 4)] * 5), batch(errors, n, [7.0 * (n > 3)] * 5)])
        events += engine.events.pop_due()
    assert Counter(each.kind for each in events if each.observed_ns == at_row(4)) == {
        EventKind.PFC_PAUSE: 3,
        EventKind.LINK_DOWN: 3,
        EventKind.XID: 3,
        EventKind.PFC_BRIEF_PAUSES: 2,
    }
    summed = [each for each in events if each.kind is EventKind.PFC_BRIEF_PAUSES]
    assert [(str(each.object), each.amount) for each in summed] == [
        ("port:leaf1/Ethernet3", 2.0),
        ("port:leaf1/Ethernet4", 2.0),
    ]
    assert engine.events.pop_dropped() == {EventDrop.TOO_MANY_OPEN: 4}  # two links and two XIDs
    assert not engine.events.pop_dropped()


def test_a_port_that_is_down_while_there_is_no_room_gets_no_event_with_a_wrong_beginning(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(watch, "OPEN_MAX", 1)
    both = [UP, port_key("fabric_port_up", "Ethernet1")]
    events = logged(both, [[1, 1], [0, 0], *[[1, 0]] * 8, [1, 0], [1, 0]])
    assert {str(each.object) for each in events} == {"port:leaf1/Ethernet0"}


def test_a_time_of_lately_is_an_event_at_first_sight() -> None:
    opened, ended, again = logged([PROCESS], [*[[START_S - 5.0]] * 9, *[[START_S + 85.0]] * 3])
    assert (opened.kind, opened.detail, str(opened.object)) == (
        EventKind.NCCL_PROCESS,
        "dead: process 42, GPU 0,1, job 7",
        "device:leaf1",
    )
    assert (at(opened)[:2], at(again)[:2]) == ((-5.0, -5.0), (85.0, 85.0))
    assert (ended.state, ended.count) == (EventState.ENDED, 1)


def test_a_time_of_long_ago_is_history_at_first_sight() -> None:
    assert logged([PROCESS], [[START_S - 601.0]] * 9) == []


def test_what_is_known_of_forgotten_series_is_published() -> None:
    engine, keys = Engine(CONFIG.model_copy(update={"series_ttl_s": 600.0})), [PAUSED, UP]
    run(engine, [batch(table("leaf1", keys), n, [n * 0.03, float(n < 10)]) for n in range(20)])
    run(engine, clockwork(0, range(20, 150)))
    assert not [key for key in engine.registry.keys if "pause" in key or "port_up" in key]
    *_, ended, summed = sorted(engine.events.pop_due(), key=lambda each: each.state is EventState.ENDED)
    assert {(each.kind, each.state) for each in (ended, summed)} == {
        (EventKind.LINK_DOWN, EventState.ENDED),
        (EventKind.PFC_BRIEF_PAUSES, EventState.ENDED),
    }
    assert {each.count for each in (ended, summed)} == {1, 19}


def test_sums_are_published_when_event_time_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BRIEF_NS", 600 * SECOND)
    engine, of = Engine(CONFIG), table("leaf1", [PAUSED])
    run(engine, [batch(of, n, [n * 0.03]) for n in range(20)])
    engine.events.pop_due()
    engine._go_back()
    (summed,) = engine.events.pop_due()
    assert (summed.kind, summed.count) == (EventKind.PFC_BRIEF_PAUSES, 18)
    run(engine, [batch(of, n, [n * 0.03]) for n in range(70)])  # what follows is another sum
    assert [each.count for each in engine.events.pop_due()] == [59]


def test_sums_beyond_those_that_are_published_at_once_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "FORGOTTEN_MAX", 2)
    keys = [port_key(PAUSE, f"Ethernet{n}", priority="3", direction="rx") for n in range(5)]
    engine, of = Engine(CONFIG), table("leaf1", keys)
    run(engine, [batch(of, n, [n * 0.03] * 5) for n in range(20)])
    engine._go_back()
    assert len(engine.events.pop_due()) == 2
    assert engine.events.pop_dropped() == {EventDrop.TOO_MANY_FORGOTTEN: 3}


def test_what_another_metric_shows_better_from_now_on_ends() -> None:
    engine, frames, better = Engine(CONFIG), table("leaf1", [FRAMES]), table("leaf1", [PAUSED], "cli")
    run(engine, [batch(frames, n, [9000.0 * n]) for n in range(5)])
    assert [each.state for each in engine.events.pop_due()] == [EventState.OPEN]
    run(engine, [each for n in range(5, 9) for each in (batch(frames, n, [9000.0 * n]), batch(better, n, [0.0]))])
    assert [(each.state, each.source) for each in engine.events.pop_due()] == [
        (EventState.ENDED, "fabric_port_pfc_pause_frames_total")
    ]


def test_portions_and_a_restart_change_no_byte(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "BRIEF_NS", 600 * SECOND)
    keys = [PAUSED, UP, XIDS, FLAPS, UPTIME, PROCESS, LOG_ENTRY]
    rows = [
        [
            n * 0.03 + 2.0 * (n % 40 > 37),
            float(n % 50 != 7),
            float(n // 60),
            2.0 * (n // 45) + (n % 50 > 6) + (n % 50 > 7),
            n % 70 * 10.0 + 4,
            START_S + n // 50 * 500.0 - 3,
            START_S + n // 30 * 300.0 - 4,
        ]
        for n in range(140)
    ]
    one_by_one = [encode_record(each) for each in logged(keys, rows)]
    assert one_by_one == [encode_record(each) for each in logged(keys, rows, every=37)]
    assert one_by_one == [encode_record(each) for each in logged(keys, rows, restarts=[0, 3, 38, 39, 117])]
    assert len(one_by_one) > 10
    assert [encode_record(decode_record(each, Event)) for each in one_by_one] == one_by_one


def test_a_snapshot_of_a_product_without_events_is_read(tmp_path: Path) -> None:
    of, engine, new, path = table("leaf1", [PAUSED, UP]), Engine(CONFIG), Engine(CONFIG), tmp_path / "snapshot"
    run(engine, [batch(of, n, [n * 0.03, float(n < 3)]) for n in range(10)])
    snapshot.save(path, engine, MARK)
    head, arrays = state_file.read(path)
    del head["parts"]["events"], head["blocks"]["events"]
    state_file.write(path, head, {name: each for name, each in arrays.items() if not name.startswith("events/")})
    assert snapshot.load(path, new) == Loaded(MARK, {}, ())
    run(new, [batch(of, n, [n * 0.03 + 2.0 * (n > 12), 0.0]) for n in range(10, 16)])
    (opened,) = new.events.pop_due()  # nobody saw when the link went down
    assert (opened.kind, at(opened)[:2]) == (EventKind.PFC_PAUSE, (120, 130))


LATER: dict[int, tuple[str, ...]] = {3: ("node_bmc",), 2: ("node_bmc", "nccl_process")}
LATER[1] = (*LATER[2], "fabric_port_flaps", "nic_flaps", "ib_port_link_downed", "fabric_device", "nvswitch_sxid")


@pytest.mark.parametrize("older", LATER)
def test_a_snapshot_from_before_a_metric_was_watched_is_read(tmp_path: Path, older: int) -> None:
    of, engine, new, path = table("leaf1", [FLAPS, UP]), Engine(CONFIG), Engine(CONFIG), tmp_path / "snapshot"
    run(engine, [batch(of, n, [4.0, float(n < 8)]) for n in range(10)])
    snapshot.save(path, engine, MARK)
    head, arrays = state_file.read(path)
    assert head["blocks"]["events"][0] == 4
    head["blocks"]["events"][0] = older
    later = LATER[older]
    for name in [name for name in head["parts"]["events"]["watches"] if name.startswith(later)]:
        del head["parts"]["events"]["watches"][name]
    was = {name: each for name, each in arrays.items() if not name.startswith(tuple(f"events/{one}" for one in later))}
    assert len(was) < len(arrays)
    state_file.write(path, head, was)
    assert snapshot.load(path, new) == Loaded(MARK, {}, ())
    run(new, [batch(of, n, [4.0 + 2 * (n > 13), 1.0]) for n in range(10, 30)])
    assert [(each.kind, each.state) for each in new.events.pop_due()] == [
        (EventKind.LINK_BOUNCED, EventState.OPEN),
        (EventKind.LINK_DOWN, EventState.ENDED),
        (EventKind.LINK_BOUNCED, EventState.ENDED),
    ]
