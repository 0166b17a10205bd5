"""Logs of management controllers, read over HTTPS from a real server, up to the event."""

from datetime import UTC, datetime
from typing import Any

import pytest
from aiohttp import web

from analytics.engine import Engine
from ingest.collectors.redfish.collector import RedfishCollector
from ingest.collectors.redfish.logs import metrics
from ingest.collectors.redfish.logs.metrics import Outcome
from ingest.ledger import DropReason
from telemetry.events import Event, EventKind, EventState
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import parse_series_key
from tests.conformance.collectors.redfish_bench import FAST, NOW_NS, Bench, down, values
from tests.ledgers import assert_accounted
from tests.servers.redfish import ROOT, Controller, Log, old_shape, with_logs
from tests.unit.analytics.small_cluster import CONFIG, SECOND, run
from tests.unit.ingest.redfish.vendor_entries import SOURCES

SEL = f"{ROOT}/Managers/1/LogServices/Sel"
METRIC = "node_bmc_event_timestamp_seconds"
TEMPERATURE = 'node_temperature_celsius{device="node1",sensor="System.Embedded.1/CPU1 Temp"}'
SKIPS = {"ProtocolFeaturesSupported": {"TopSkipQuery": True}}


def entry(text: str, at_s: float | None = None, **fields: Any) -> dict[str, Any]:
    """Logged so many seconds after ``NOW_NS``; None: without a time."""
    created = {} if at_s is None else {"Created": stamp(at_s)}
    return {"Severity": "Critical", "Message": text, **created, **fields}


def stamp(at_s: float) -> str:
    return datetime.fromtimestamp(NOW_NS / SECOND + at_s, UTC).isoformat()


async def serve(bench: Bench, *logs: Log, features: dict[str, Any] | None = None, **service: Any) -> Controller:
    tree = with_logs(old_shape(), *logs, **service)
    tree[f"{ROOT}/"] |= features or {}
    controller = await bench.serve(tree)
    controller.logs = list(logs)
    return controller


async def logged(collector: RedfishCollector, at_s: float) -> dict[str, float]:
    """The words of each event of a collection, with its seconds after ``NOW_NS``. Sensors are always there."""
    found = values(await collector.collect(NOW_NS + round(at_s * SECOND)))
    assert TEMPERATURE in found
    events = {key: value for key, value in found.items() if key.startswith(METRIC)}
    return {parse_series_key(key)[1]["message"]: value - NOW_NS / SECOND for key, value in events.items()}


def counted(outcome: Outcome) -> float:
    return float(metrics.ENTRIES.labels("redfish", outcome)._value.get())


@pytest.fixture
def log() -> Log:
    return Log(SEL)


async def test_logs_of_managers_systems_and_chassis_are_read_as_vendors_send_them(bench: Bench) -> None:
    owners = ("Managers/1", "Systems/System.Embedded.1", "Chassis/System.Embedded.1")
    logs = [
        Log(f"{ROOT}/{owners[n % 3]}/LogServices/{vendor}", [{**SOURCES[vendor]}]) for n, vendor in enumerate(SOURCES)
    ]
    await serve(bench, *logs)
    batch = await bench.collector().collect(NOW_NS + 40 * SECOND)
    found = values(batch)
    assert {value for key, value in found.items() if key.startswith(METRIC)} == {NOW_NS / SECOND}
    assert sum(key.startswith(METRIC) for key in found) == len(SOURCES)
    labels = (
        'device="node1",event="Upper Critical - going high",message="Temperature threshold exceeded",'
        'message_id="0x592A28",part="Chassis/1U/Thermal",sensor="Temperature 1",severity="critical"'
    )
    assert f"{METRIC}{{{labels}}}" in found
    assert isinstance(batch, SampleBatch)
    assert batch.collection.unmapped == 0
    assert_accounted(bench.ledger, [batch])


@pytest.mark.parametrize("rising", [True, False])
@pytest.mark.parametrize("skips", [True, False])
@pytest.mark.parametrize("links", [True, False])
async def test_new_entries_of_a_long_log_are_found_and_old_ones_are_no_news(
    bench: Bench, log: Log, rising: bool, skips: bool, links: bool
) -> None:
    log.rising, log.links = rising, links
    log.add(*(entry(f"old {n}", n - 9000) for n in range(160)))
    controller = await serve(bench, log, features=SKIPS if skips else None)
    collector = bench.collector()
    assert await logged(collector, 0) == {}
    log.add(entry("fan", 20), entry("heat", 40))
    before = len(controller.asked)
    assert await logged(collector, 60) == {"fan": 20, "heat": 40}
    assert await logged(collector, 120) == {"fan": 20, "heat": 40}, "repeated, so that it is seen to be over"
    assert await logged(collector, 960) == {}
    asked = [path for path in controller.asked[before:] if SEL in path]
    assert len([path for path in asked if "Entries/" in path]) == (2 if links else 0)
    assert len(asked) <= (10 if links else 8)
    skipped = [path for path in controller.asked if "skip=110" in path or "skip=112" in path]
    assert bool(skipped) is (rising and skips), "only where the controller says that it can"


async def test_a_log_is_read_no_more_often_than_set_and_not_at_all_where_that_is_set(bench: Bench, log: Log) -> None:
    controller = await serve(bench, log)
    collector = bench.collector(logs={"interval_s": 120})
    for at_s in range(0, 361, 30):
        await collector.collect(NOW_NS + at_s * SECOND)
    assert controller.asked.count(f"GET {SEL}/Entries") == 4
    controller.asked.clear()
    await bench.collector(logs=None).collect(NOW_NS)
    assert not [path for path in controller.asked if "LogServices" in path]


async def test_what_was_logged_while_nobody_read_is_there_after_a_restart_and_nothing_doubles(
    bench: Bench, log: Log
) -> None:
    """As in the engine: what has the same time is the same event."""
    log.add(entry("long ago", -9000), entry("lately", -100))
    await serve(bench, log)
    batches = []
    for collector, seconds in ((bench.collector(), range(0, 121, 30)), (bench.collector(), range(300, 901, 30))):
        for at_s in seconds:
            if at_s == 60:
                log.add(entry("heat", 45))
            elif at_s == 300:
                log.add(entry("fan", 200), entry("heat", 210))
            batch = await collector.collect(NOW_NS + at_s * SECOND)
            assert isinstance(batch, SampleBatch)
            batches.append(batch)
    engine = Engine(CONFIG)
    run(engine, batches)
    opened: dict[str, Event] = {}
    ended = []
    for event in engine.events.pop_due():
        assert event.kind is EventKind.BMC_LOG
        opened.setdefault(event.id, event)
        ended += [event] if event.state is EventState.ENDED else []
    found = sorted(opened.values(), key=lambda event: event.began_by_ns)
    assert [(each.detail, (each.began_after_ns - NOW_NS) / SECOND, each.count) for each in found] == [
        ("critical: lately", -100, 1),
        ("critical: heat", 45, 1),
        ("critical: fan", 200, 1),
        ("critical: heat", 210, 1),
    ]
    assert all(each.began_after_ns == each.began_by_ns for each in found), "exact"
    assert {str(each.object) for each in found} == {"device:node1"}
    assert len(ended) == 4


async def test_an_entry_without_a_time_is_as_old_as_its_reading_and_history_at_first(bench: Bench, log: Log) -> None:
    log.add(entry("before"))
    await serve(bench, log)
    collector = bench.collector()
    past = counted(Outcome.PAST)
    assert await logged(collector, 0) == {}
    assert counted(Outcome.PAST) == past + 1
    log.add(entry("new"), entry("in no zone", Created="2025-10-09T08:00:00"), entry("no clock", -1.6e9))
    assert await logged(collector, 60) == {"new": 60, "in no zone": 60, "no clock": 60}


async def test_a_clock_that_is_wrong_is_corrected_by_what_the_log_states(bench: Bench, log: Log) -> None:
    await serve(bench, log, DateTime=stamp(7200))
    collector = bench.collector()
    await collector.collect(NOW_NS)
    log.add(entry("heat", 7230))
    assert await logged(collector, 60) == {"heat": 30}


async def test_a_cleared_log_begins_again(bench: Bench, log: Log) -> None:
    log.rising = True
    log.add(*(entry(f"old {n}", n - 9000) for n in range(120)))
    await serve(bench, log)
    collector = bench.collector()
    for at_s in (0, 60):
        assert await logged(collector, at_s) == {}
    log.entries.clear()
    log.add(entry("log cleared", 70), entry("heat", 80))
    assert await logged(collector, 120) == {"log cleared": 70, "heat": 80}


async def test_what_is_not_taken_is_counted_with_its_reason(bench: Bench, log: Log) -> None:
    await serve(bench, log)
    collector = bench.collector(logs={"entries_max": 7, "events_max": 3})
    batches = [await collector.collect(NOW_NS)]
    before = {outcome: counted(outcome) for outcome in Outcome}
    log.add(entry("beyond", 9), entry("late", -2000), {"Severity": "Critical"}, entry("login", 12, Severity="OK"))
    log.add(entry("heat", 10), entry("heat", 11), *(entry(f"fan {n}", 20 + n) for n in range(3)))
    log.entries[2:2] = [5]  # type: ignore[list-item]  # no object
    log.entries.pop(0)
    log.entries.insert(0, {**entry("beyond", 9), "@odata.id": f"{SEL}/Entries/0"})
    batches.append(await collector.collect(NOW_NS + 60 * SECOND))
    assert {outcome: counted(outcome) - before[outcome] for outcome in Outcome} == {
        Outcome.TAKEN: 3,
        Outcome.MINOR: 1,
        Outcome.PAST: 0,
        Outcome.LATE: 0,
        Outcome.DUPLICATE: 0,
        Outcome.QUOTA: 5,
        Outcome.UNREADABLE: 1,
    }
    assert bench.ledger.drops == {DropReason.NO_VALUE: 2, DropReason.QUOTA: 5, DropReason.BAD_FORMAT: 1}
    assert all(isinstance(batch, SampleBatch) for batch in batches)
    assert_accounted(bench.ledger, batches)  # type: ignore[arg-type]  # they are


async def test_duplicates_and_late_entries_are_counted(bench: Bench, log: Log) -> None:
    await serve(bench, log)
    collector = bench.collector()
    batches = [await collector.collect(NOW_NS)]
    log.add(entry("late", -2000), entry("heat", 10), entry("heat", 11))
    batches.append(await collector.collect(NOW_NS + 60 * SECOND))
    expected = {DropReason.NO_VALUE: 2, DropReason.EVENT_TIME: 1, DropReason.DUPLICATE: 1}
    assert bench.ledger.drops == expected
    assert_accounted(bench.ledger, batches)  # type: ignore[arg-type]  # batches of samples


async def test_severity_and_logs_are_chosen(bench: Bench) -> None:
    journal, sel = Log(f"{ROOT}/Managers/1/LogServices/Journal"), Log(SEL)
    controller = await serve(bench, journal, sel)
    sel.add(entry("login", -10, Severity="OK"), entry("fan", -9, Severity="Warning"), entry("heat", -8))
    assert await logged(bench.collector(), 0) == {"fan": -9, "heat": -8}
    assert not [path for path in controller.asked if "Journal" in path]
    assert await logged(bench.collector(logs={"severity": "critical"}), 0) == {"heat": -8}
    with_all = bench.collector(logs={"severity": "ok", "leave_out": ["S*"]})
    journal.add(entry("service began", -1, Severity="OK"))
    assert await logged(with_all, 0) == {"service began": -1}


async def test_a_log_that_is_switched_off_is_not_read(bench: Bench, log: Log) -> None:
    controller = await serve(bench, log, ServiceEnabled=False)
    await bench.collector().collect(NOW_NS)
    assert f"GET {SEL}/Entries" not in controller.asked


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=403),
        web.Response(status=404),
        web.Response(status=500),
        web.Response(text="<html>"),
        web.json_response({"Members": {"a": 1}}),
        web.json_response({"Members": [None, 7, [], {"@odata.id": 5}]}),
        web.json_response({"Members": [{"Message": {}, "Created": [], "Links": 5}], "Members@odata.nextLink": 7}),
        web.Response(body=b"[" * 6_000_000),
    ],
)
async def test_a_log_that_cannot_be_read_leaves_sensors_and_other_logs(
    bench: Bench, log: Log, answer: web.Response
) -> None:
    other = Log(f"{ROOT}/Managers/1/LogServices/FaultList")
    other.add(entry("fault", -5))
    controller = await serve(bench, log, other)
    controller.instead[f"{SEL}/Entries"] = [answer]
    collector = bench.collector()
    assert await logged(collector, 0) == {"fault": -5}
    log.add(entry("heat", 10))
    assert (await logged(collector, 60))["heat"] == 10


async def test_a_log_without_end_is_read_to_the_limit(bench: Bench, log: Log) -> None:
    controller = await serve(bench, log)
    page = {"Members": [], "Members@odata.nextLink": f"{SEL}/Entries"}
    controller.tree[f"{SEL}/Entries"] = page
    await bench.collector(logs={"pages_max": 3}).collect(NOW_NS)
    assert controller.asked.count(f"GET {SEL}/Entries") == 3


async def test_a_log_that_does_not_answer_costs_no_sensors_and_the_others_are_read_the_next_time(
    bench: Bench, log: Log
) -> None:
    other = Log(f"{ROOT}/Managers/1/LogServices/Zuletzt")
    other.add(entry("fault", -5))
    controller = await serve(bench, log, other)
    controller.stalls = f"{SEL}/Entries"
    collector = bench.collector(timeout_s=3.0)
    assert await logged(collector, 0) == {}
    assert await logged(collector, 60) == {"fault": -5}


async def test_a_controller_that_is_down_has_no_log_and_goes_on_where_it_was(bench: Bench, log: Log) -> None:
    log.add(entry("old", -2000))
    controller = await serve(bench, log)
    collector = bench.collector()
    await collector.collect(NOW_NS)
    log.add(entry("heat", 10))
    controller.instead[f"{ROOT}/"] = [web.Response(status=503)]
    controller.tree[f"{ROOT}/Chassis"], chassis = None, controller.tree[f"{ROOT}/Chassis"]
    collector._layout = {}
    assert down(await collector.collect(NOW_NS + 60 * SECOND)) is DownReason.HTTP_STATUS
    controller.tree[f"{ROOT}/Chassis"] = chassis
    controller.instead.clear()
    assert await logged(collector, 120) == {"heat": 10}


async def test_logs_count_as_requests_of_a_collection(bench: Bench, log: Log) -> None:
    log.links = True
    controller = await serve(bench, log)
    collector = bench.collector(limits={**FAST, "requests_max": 30})
    await collector.collect(NOW_NS)
    log.add(*(entry(f"fan {n}", n) for n in range(50)))
    controller.asked.clear()
    batch = await collector.collect(NOW_NS + 60 * SECOND)
    assert (down(batch), len(controller.asked)) == (None, 30)
