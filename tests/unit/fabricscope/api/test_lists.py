"""What the API lists, sums and streams, from a read model that is filled by hand."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import orjson
import pytest
from starlette.datastructures import MutableHeaders, QueryParams

from bus.base import Record
from fabricscope.api.instants import rfc3339
from fabricscope.api.paging import PageQuery, Pager
from fabricscope.api.read_model import ReadModel, TargetStatus
from fabricscope.api.routes.ledger import (
    AccountFilter,
    list_job_accounts,
    list_stage_reports,
    list_target_accounts,
)
from fabricscope.api.routes.starvation import By, LossFilter, sum_starvation
from fabricscope.api.routes.stream import INCIDENTS_SHOWN, Pictures, _events, noc_content
from fabricscope.api.routes.targets import (
    TargetFilter,
    count_series_states,
    list_refused_input,
    list_targets,
    list_top_targets,
    list_topology,
    list_what_is_not_recorded,
)
from fabricscope.api.routes.trends import ForecastFilter, list_forecasts
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentState
from telemetry.ledger import StageReport, TargetAccount
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.starvation import GpuLoss, HostLosses
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, Topology, TopologyFact
from telemetry.trends import DeviceTrends, Forecast
from tests.unit.fabricscope.api.traffic import NS, incident
from tests.waiting import DEADLINE_S


def pager() -> Pager:
    return Pager("/", QueryParams(), MutableHeaders())


LOSSES = (
    HostLosses(
        "node1",
        9,
        (
            GpuLoss("GPU-0", "7", 1, 100.0, {"storage": 20.0, "peer": 5.0}),
            GpuLoss("GPU-1", "7", 1, 100.0, {"storage": 10.0}),
            GpuLoss("GPU-0", "8", 5, 50.0),
        ),
    ),
    HostLosses(
        "node2", 9, (GpuLoss("GPU-0", "7", 1, 100.0, {"peer": 40.0}), GpuLoss("GPU-0", "", 1, 10.0, {"hung": 1.5}))
    ),
)


@pytest.mark.parametrize(
    ("by", "job", "expected"),
    [
        (By.CLUSTER, None, [("", 3, 360.0, 76.5, {"storage": 30.0, "peer": 45.0, "hung": 1.5})]),
        (
            By.JOB,
            None,
            [
                ("7", 3, 300.0, 75.0, {"storage": 30.0, "peer": 45.0}),
                ("", 1, 10.0, 1.5, {"hung": 1.5}),
                ("8", 1, 50.0, 0.0, {}),
            ],
        ),
        (
            By.HOST,
            "7",
            [("node2", 1, 100.0, 40.0, {"peer": 40.0}), ("node1", 2, 200.0, 35.0, {"storage": 30.0, "peer": 5.0})],
        ),
        (By.GPU, "8", [("node1/GPU-0", 1, 50.0, 0.0, {})]),
        (By.JOB, "9", []),
    ],
)
async def test_lost_gpu_time_is_summed(model, by, job, expected):
    model.losses = {one.device: one for one in LOSSES}
    found = await sum_starvation(model, pager(), LossFilter(by=by, job=job))
    assert [(one.name, one.gpus, one.watched_s, one.lost_s, one.causes_s) for one in found] == expected


async def test_of_many_sums_the_largest_are_listed(model):
    model.losses = {one.device: one for one in LOSSES}
    assert [one.name for one in await sum_starvation(model, pager(), LossFilter(by=By.GPU, limit=2))] == [
        "node2/GPU-0",
        "node1/GPU-0",
    ]


def target(name: str, up: bool = True) -> TargetStatus:
    return TargetStatus(name, "node1", up, None if up else "timeout", 1, 0.1, 100)


async def test_targets_that_are_down_are_listed_first(model):
    model.targets = {name: target(name, up) for name, up in (("b", True), ("d", False), ("a", True), ("c", False))}
    assert [one.target for one in await list_targets(model, pager(), TargetFilter())] == ["c", "d", "a", "b"]


async def test_targets_that_cost_most_are_listed_first(model):
    model.targets = {name: replace(target(name, True), series=series) for name, series in (("a", 10), ("b", 30))}
    refused = {f"series_refused/{name}": count for name, count in (("a", 5.0), ("never seen", 7.0))}
    model.drops.add(StageReport("ingest", "i", 1, 2, details={"targets": 2.0, **refused}))
    found = [(one.target, one.series, one.series_refused) for one in await list_top_targets(model)]
    assert found == [("never seen", 0, 7), ("a", 10, 5), ("b", 30, 0)]
    assert [one.target for one in await list_top_targets(model, limit=1)] == ["never seen"]


def counted(model: ReadModel) -> None:
    """Of two jobs: one that lost most, one that lost nothing, one that does not add up, and one of a release before."""
    accounts = {
        "gpu/a": TargetAccount(NS, 10, 10, 0),
        "gpu/b": TargetAccount(NS, 30, 10, 0, {"no_value": 15, "quota": 5}),
        "node/c": TargetAccount(NS, 10, 7, 2),
    }
    model.targets = {name: replace(target(name, True), unmapped=3, left_out=4) for name in (*accounts, "node/d")}
    model.accounts = accounts


async def test_accounts_that_do_not_add_up_and_those_that_lost_most_are_listed_first(model):
    counted(model)
    listed = await list_target_accounts(model, pager(), AccountFilter())
    assert [(one.target, one.balance) for one in listed] == [("node/c", 1), ("gpu/b", 0), ("gpu/a", 0)]
    assert listed[1].model_dump() == {
        "target": "gpu/b",
        "device": "node1",
        "since": "1970-01-01T00:00:01Z",
        "at": "1970-01-01T00:00:00.000000001Z",
        "received": 30,
        "delivered": 10,
        "held": 0,
        "dropped": {"no_value": 15, "quota": 5},
        "balance": 0,
        "series": 100,
        "unmapped": 3,
        "left_out": 4,
    }


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (AccountFilter(job="gpu"), ["gpu/b", "gpu/a"]),
        (AccountFilter(device="node2"), []),
        (AccountFilter(dropped=True), ["gpu/b"]),
        (AccountFilter(balanced=False), ["node/c"]),
        (AccountFilter(balanced=True, dropped=False), ["gpu/a"]),
        (AccountFilter(limit=2), ["node/c", "gpu/b"]),
    ],
)
async def test_accounts_by_job_device_drops_and_balance(model, chosen, names):
    counted(model)
    assert [one.target for one in await list_target_accounts(model, pager(), chosen)] == names


async def test_the_accounts_of_a_job_s_targets_add_up(model):
    counted(model)
    gpu, node = await list_job_accounts(model)
    assert (gpu.job, gpu.targets, gpu.received, gpu.delivered, gpu.held, gpu.balance) == ("gpu", 2, 40, 20, 0, 0)
    assert (gpu.dropped, gpu.series, gpu.unmapped, gpu.left_out) == ({"no_value": 15, "quota": 5}, 200, 6, 8)
    assert (node.job, node.targets, node.balance) == ("node", 1, 1)


async def test_only_what_is_present_is_listed_by_key(model):
    present = [Device("leaf2", Role.LEAF), Device("leaf1", Role.LEAF)]
    gone = TopologyFact(Device("leaf0", Role.LEAF), 3, "inventory", gone=True)
    model.topology = Topology().with_facts([*(TopologyFact(one, 1, "inventory") for one in present), gone])
    assert await list_topology(model, pager(), PageQuery()) == sorted(present, key=lambda one: one.key)


REPORT = StageReport("analytics", "a", 1, 2, 100, 80, 5, 10, {"stale": 3}, {"series": 4.0, "series_fresh": 3.0})


async def test_what_was_refused_is_listed_with_its_reason(model):
    """Newest first: facts that contradict others, and changes of which only a part counts."""
    itself = Link("leaf1", "e1", "leaf1", "e2")
    leaf, host = Device("n1", Role.LEAF), Device("n1", Role.HOST)
    year = Change("c1", ChangeKind.MAINTENANCE, (ObjectRef(ObjectKind.RACK, "r1"),), 9, 366 * 86_400 * 10**9, "ada")
    facts = [
        TopologyFact(itself, 5, "lldp/leaf1"),
        TopologyFact(leaf, 6, "inventory"),
        TopologyFact(host, 7, "dcgm"),
        TopologyFact(Job("4", ("n1", "n9")), 8, "slurm"),
    ]
    model.apply([Record(topics.TOPOLOGY.name, 0, at, 0, b"", encode_record(f), {}) for at, f in enumerate(facts)])
    model.apply([Record(topics.CHANGES.name, 0, 0, 0, b"c1", encode_record(year), {})])
    assert [
        (each.reason, each.text, each.source) for each in await list_refused_input(model, pager(), PageQuery())
    ] == [
        ("lasts_too_long", "maintenance c1 lasts 366 days: it counts for 30", "ada"),
        ("unknown_hosts", "job 4 runs on n9, unknown to the topology", "slurm"),
        ("name_twice", "dcgm says n1 is a host in rack ?, inventory says n1 is a leaf in rack ?", "inventory"),
        ("self_link", "leaf1/e1--leaf1/e2 leads from leaf1 to itself", "lldp/leaf1"),
    ]


async def test_what_is_not_recorded_is_listed_with_what_would_record_it(model):
    """Also before anything is wrong."""
    assert [(each.what, each.needs) for each in await list_what_is_not_recorded(model)] == [
        ("roles of devices", "an inventory"),
        ("cables", "LLDP of the switches, or an inventory with links"),
        ("racks", "an inventory with racks"),
        ("jobs", "Slurm or Kubernetes"),
    ]
    facts: list[Device | Link | Job] = [Device("leaf1", Role.LEAF), Link("leaf1", "e1", "n1", "m0"), Job("4", ("n1",))]
    model.topology = Topology().with_facts(TopologyFact(one, 1, "slurm") for one in facts)
    assert [each.what for each in await list_what_is_not_recorded(model)] == ["racks"]


async def test_a_stage_report_has_its_balance(model):
    model.stages = {("ingest", "b"): replace(REPORT, stage="ingest", instance="b"), ("analytics", "a"): REPORT}
    first, second = await list_stage_reports(model)
    assert (first.stage, second.stage) == ("analytics", "ingest")
    assert first.model_dump() == {
        "stage": "analytics",
        "instance": "a",
        "epoch": "1970-01-01T00:00:00.000000001Z",
        "at": "1970-01-01T00:00:00.000000002Z",
        "samples_in": 100,
        "samples_out": 80,
        "deduplicated": 5,
        "held": 10,
        "dropped": {"stale": 3},
        "balance": 2,
        "details": {"series": 4.0, "series_fresh": 3.0},
        "problem": "",
    }


async def test_states_of_series_are_those_of_analytics_alone(model):
    model.stages = {("ingest", "b"): replace(REPORT, stage="ingest"), ("analytics", "a"): REPORT}
    (found,) = await count_series_states(model)
    assert (found.instance, found.at, found.series) == ("a", rfc3339(2), {"fresh": 3})


def forecast(series: str, days: float, kind: FindingKind = FindingKind.WEAR) -> Forecast:
    root = ObjectRef(ObjectKind.PORT, "leaf1/Ethernet0")
    return Forecast(series, kind, root, "dBm", -3.0, -7.3, -0.4, days, days, None, 7.0)


@pytest.mark.parametrize(
    ("kind", "limit", "names"),
    [
        (None, 10, ["soon", "tie-a", "tie-b", "late"]),
        (None, 2, ["soon", "tie-a"]),
        (FindingKind.CAPACITY, 10, ["tie-a", "late"]),
        (FindingKind.DEVIATION, 10, []),
    ],
)
async def test_forecasts_come_soonest_first(model, kind, limit, names):
    capacity = FindingKind.CAPACITY
    model.trends = {
        "leaf1": DeviceTrends("leaf1", 1, (forecast("late", 9.0, capacity), forecast("tie-b", 5.0))),
        "leaf2": DeviceTrends("leaf2", 1, (forecast("soon", 1.0), forecast("tie-a", 5.0, capacity))),
    }
    assert [one.series for one in await list_forecasts(model, pager(), ForecastFilter(kind=kind, limit=limit))] == names


def test_the_content_of_the_page_counts_what_is_there(model):
    entities: list[Entity] = [
        *(Device(f"leaf{n}", Role.LEAF) for n in range(2)),
        *(Device("spine1", Role.SPINE), Device("node1", Role.HOST)),
        *(Gpu("node1", f"GPU-{n}", n) for n in range(3)),
        Job("7", ("node1",), "train"),
    ]
    model.topology = Topology().with_facts([TopologyFact(one, 1, "inventory") for one in entities])
    model.targets = {name: target(name, up) for name, up in (("a", True), ("b", False))}
    model.incidents = {f"i{n}": incident(f"i{n}") for n in range(INCIDENTS_SHOWN + 1)}
    content = noc_content(model)
    assert content.cluster.model_dump() == {"switches": 3, "gpus": 3, "jobs": 1}
    assert content.samples == 200
    assert [one.id for one in content.incidents] == [one.id for one in model.worst_first()[:INCIDENTS_SHOWN]]


def test_the_picture_is_made_once_for_all_streams(model, bus):
    pictures = Pictures(model, bus, time.time_ns)
    version, first = pictures.newest()
    assert pictures.newest()[1] is first
    model.apply([Record(topics.INCIDENTS.name, 0, 0, 0, b"", encode_record(incident()), {})])
    later, second = pictures.newest()
    assert later > version
    assert [one["id"] for one in orjson.loads(second)["incidents"]] == ["i1"]


async def next_event(events: AsyncIterator[Any]) -> tuple[str, str | None, dict[str, Any]]:
    event = await asyncio.wait_for(anext(events), DEADLINE_S)
    return event.event, event.id, orjson.loads(event.data)


async def test_the_stream_waits_for_a_change_and_skips_versions_nobody_saw(model, bus, monkeypatch):
    monkeypatch.setattr("fabricscope.api.routes.stream.PERIOD_S", 0.0)
    monkeypatch.setattr("fabricscope.api.routes.stream.UNCHANGED_S", 60.0)
    events = aiter(_events(model, Pictures(model, bus, time.time_ns), lambda: True))
    assert (await next_event(events))[:2] == ("picture", "0")
    assert (await next_event(events))[0] == "data"
    waiting = asyncio.create_task(next_event(events))
    for number in range(3):
        one = incident(f"i{number}", IncidentState.FIRING)
        model.apply([Record(topics.INCIDENTS.name, 0, number, 0, b"", encode_record(one), {})])
    assert not waiting.done()
    async with model.changed:
        model.changed.notify_all()
    _, identity, content = await waiting
    assert (identity, len(content["incidents"])) == ("3", 3)


async def test_the_stream_says_that_data_is_missing_although_nothing_changes(model, bus, monkeypatch):
    monkeypatch.setattr("fabricscope.api.routes.stream.PERIOD_S", 0.0)
    monkeypatch.setattr("fabricscope.api.routes.stream.UNCHANGED_S", 0.01)
    model.targets = {"a": target("a", up=True)}
    now_ns = iter(model.targets["a"].collected_ns + age_s * NS for age_s in (1, 601))
    events = aiter(_events(model, Pictures(model, bus, lambda: next(now_ns)), lambda: True))
    assert (await next_event(events))[0] == "picture"
    assert (await next_event(events))[2]["level"] == "good"
    assert (await next_event(events))[2]["text"] == "no data for 601 s: no target is collected"
