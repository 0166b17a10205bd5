"""Devices that are read more often than once an interval, and what waits for less time because of it."""

from collections.abc import Sequence

import pytest

from analytics.engine import Engine
from analytics.view.cadence import devices_read_often
from analytics.worker import build_engine
from telemetry.incidents import Incident, IncidentKind
from telemetry.samples import SampleBatch
from telemetry.topology import Device, Link, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, SECOND, START_NS, batch, clockwork, port_key, run, table

LASTS_S, DOWN_S = 90, 61.0
ENTITIES = (Device("leaf1", Role.LEAF), Device("spine1", Role.SPINE), Link("leaf1", "Ethernet0", "spine1", "Ethernet0"))


def reads(
    device: str, every_s: float, *, job: str = "gnmi", down_s: float = LASTS_S, lasts_s: float = LASTS_S
) -> list[SampleBatch]:
    """A port of a device, which is down from a time on."""
    of = table(device, [port_key("fabric_port_up", device=device)], job)
    times = [seq * every_s for seq in range(round(lasts_s / every_s))]
    return [batch(of, seq, [float(at_s < down_s)], at_s=at_s) for seq, at_s in enumerate(times)]


def merged(*streams: Sequence[SampleBatch]) -> list[SampleBatch]:
    return sorted((each for stream in streams for each in stream), key=lambda each: each.collection.collected_ns)


def often(*streams: Sequence[SampleBatch]) -> dict[str, float]:
    engine = Engine(CONFIG)
    run(engine, merged(*streams))
    return devices_read_often(engine._data(engine.window.watermark_ns))


@pytest.mark.parametrize(
    ("every_s", "counted_s"), [(1.0, 5.0), (2.0, 5.0), (5.0, 5.0), (6.0, 6.25), (9.8, None), (10.0, None), (30.0, None)]
)
def test_a_device_is_read_as_often_as_its_target_is_collected_in_light_ticks(
    every_s: float, counted_s: float | None
) -> None:
    assert often(reads("leaf1", every_s)).get("leaf1") == counted_s


def test_the_slowest_target_of_a_device_counts() -> None:
    assert often(reads("node1", 1.0, job="dcgm"), reads("node1", 15.0, job="node"), reads("leaf1", 1.0)) == {
        "leaf1": 5.0
    }


def test_how_often_a_device_is_read_is_not_known_before_its_second_collection() -> None:
    assert often(reads("leaf1", 1.0, lasts_s=1.0), clockwork(0, range(3))) == {}


@pytest.mark.parametrize(("spine_s", "hold_s"), [(1.0, 5.0), (10.0, 10.0), (30.0, 10.0)])
def test_a_link_fires_sooner_where_both_of_its_ends_are_read_every_second(spine_s: float, hold_s: float) -> None:
    """The leaf's end is down, and the spine says nothing of it, as a dead one would."""
    engine = build_engine(CONFIG)
    engine.add_facts(TopologyFact(each, START_NS, "inventory") for each in ENTITIES)
    outputs = run(engine, merged(reads("leaf1", 1.0, down_s=DOWN_S), reads("spine1", spine_s)))
    (incident,) = [each for each in outputs if isinstance(each, Incident)][:1]
    assert incident.kind is IncidentKind.LINK_DOWN
    found_ns = -(-round(DOWN_S * SECOND) // CONFIG.light_tick_ns) * CONFIG.light_tick_ns  # at the end of its light tick
    assert incident.updated_ns - START_NS - found_ns == hold_s * SECOND
