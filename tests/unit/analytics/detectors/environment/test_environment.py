"""Air that gets warm: at the inlet of a host, and around the GPUs of a whole rack."""

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind
from telemetry.series import series_key
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, clockwork, judged, run, table

RACKS = {"node1": "r1", "node2": "r1", "node3": "r2", "node4": "r2"}
HOSTS, GPUS, USUAL_ROUNDS, ROUNDS = tuple(RACKS), 4, 25, 8
INLET = series_key("node_temperature_celsius", {"device": "node1", "sensor": "Inlet Temp"})
TABLES = {
    host: table(
        host,
        [
            series_key(metric, {"device": host, "gpu": f"GPU-{g}"})
            for g in range(GPUS)
            for metric in ("gpu_temperature_celsius", "gpu_power_watts")
        ],
        "dcgm",
    )
    for host in HOSTS
}


def overheated(celsius: float, watts: float, hosts: tuple[str, ...] = HOSTS[:2]) -> set[str]:
    """What is too warm once the GPUs of these hosts have gone from 62 C and 500 W to this."""
    engine = Engine(CONFIG)
    engine.add_facts(TopologyFact(Device(host, Role.HOST, rack=RACKS[host]), START_NS - 1, "test") for host in HOSTS)
    batches = []
    for seq in range(USUAL_ROUNDS + ROUNDS):
        for host in HOSTS:
            now = seq >= USUAL_ROUNDS and host in hosts
            heat, power = (celsius, watts) if now else (62.0, 500.0)
            wobble = 0.5 * (seq % 3)
            batches.append(batch(TABLES[host], seq, [heat + wobble, power + wobble] * GPUS))
    ends = USUAL_ROUNDS + ROUNDS
    outputs = run(engine, [*batches, *clockwork(0, range(ends, ends + 2))])
    found = [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.OVERHEATED]
    return {str(one.object) for one in found}


def test_a_rack_that_gets_hotter_at_the_same_power_has_a_cooling_fault() -> None:
    assert overheated(72.0, 505.0) == {"rack:r1"}


def test_heat_that_comes_from_power_and_heat_of_one_host_are_none() -> None:
    assert overheated(72.0, 640.0) == set()
    assert overheated(72.0, 500.0, hosts=("node1",)) == set()
    assert overheated(65.0, 500.0) == set()


def test_heat_of_all_racks_while_the_room_warms_up_is_none() -> None:
    assert overheated(72.0, 505.0, hosts=HOSTS) == set()


@pytest.mark.parametrize(
    ("later", "expected"), [([36.0, 36.5, 37.0, 36.5], True), ([31.0, 31.5, 31.0, 31.5], True), ([26.0] * 4, False)]
)
def test_inlet_air_beyond_what_is_allowed_or_far_above_its_own_normal(later: list[float], expected: bool) -> None:
    rows = [[value] for value in [*[22.0, 22.5, 21.5] * 8, *later]]
    found = [one for one in judged([INLET], rows, device="node1") if isinstance(one, Finding)]
    assert any(one.kind is FindingKind.OVERHEATED for one in found) is expected
