"""Air that gets warm: at the inlet of a host, and around the GPUs of a whole rack."""

from collections.abc import Mapping

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, clockwork, judged, run, table

RACKS = {"node1": "r1", "node2": "r1", "node3": "r2", "node4": "r2"}
HOSTS, GPUS, USUAL_ROUNDS, ROUNDS = tuple(RACKS), 4, 25, 8
INLET = series_key("node_temperature_celsius", {"device": "node1", "sensor": "Inlet Temp"})
METRICS = ("gpu_temperature_celsius", "gpu_power_watts", "gpu_temperature_margin_celsius", "gpu_power_limit_watts")


def _tables(metrics: tuple[str, ...]) -> dict[str, SeriesTable]:
    of_gpus = {
        host: [series_key(metric, {"device": host, "gpu": f"GPU-{g}"}) for g in range(GPUS) for metric in metrics]
        for host in HOSTS
    }
    return {host: table(host, keys, "dcgm") for host, keys in of_gpus.items()}


TABLES, MORE, ALL = _tables(METRICS[:2]), _tables(METRICS[:3]), _tables(METRICS)


def overheated(
    celsius: float | Mapping[str, float],
    watts: float,
    hosts: tuple[str, ...] = HOSTS[:2],
    *,
    racks: Mapping[str, str] = RACKS,
    gpus: int = GPUS,
    apart: float = 1.0,
) -> set[str]:
    """What is too warm once so many GPUs of these hosts have gone from 62 C and 500 W to this. celsius: of all, or by
    host. racks: by host.
    apart: kelvin between the readings of one GPU at the same power."""
    return {
        str(one.object) for one in findings(celsius, watts, hosts, racks=racks, gpus=gpus, apart=apart, margins=False)
    }


def findings(
    celsius: float | Mapping[str, float],
    watts: float,
    hosts: tuple[str, ...],
    *,
    racks: Mapping[str, str] = RACKS,
    gpus: int = GPUS,
    apart: float = 1.0,
    margins: bool = True,
    limit: float | None = None,
) -> list[Finding]:
    """margins: whether GPUs report how far they are from slowing down, which these do at 95 C. limit: of their power,
    which they report beside that, in watts."""
    engine = Engine(CONFIG)
    known = [Device(host, Role.HOST, rack=racks.get(host, "")) for host in HOSTS]
    engine.add_facts(TopologyFact(device, START_NS - 1, "test") for device in known)
    batches = []
    for seq in range(USUAL_ROUNDS + ROUNDS):
        for host in HOSTS:
            now = seq >= USUAL_ROUNDS and host in hosts
            wobble = 0.5 * apart * (seq % 3)
            reported = [] if limit is None else [limit]
            hot = celsius if isinstance(celsius, float) else celsius.get(host, 62.0)
            warm = (_values(hot + wobble, watts + 0.5 * (seq % 3), margins) + reported) * (gpus if now else 0)
            usual = (_values(62.0 + wobble, 500.0 + 0.5 * (seq % 3), margins) + reported) * (
                GPUS - (gpus if now else 0)
            )
            batches.append(
                batch((ALL if limit is not None else MORE if margins else TABLES)[host], seq, [*warm, *usual])
            )
    ends = USUAL_ROUNDS + ROUNDS
    outputs = run(engine, [*batches, *clockwork(0, range(ends, ends + 2))])
    return [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.OVERHEATED]


def _values(celsius: float, watts: float, margins: bool) -> list[float]:
    return [celsius, watts, *([95.0 - celsius] if margins else [])]


def test_a_rack_that_gets_hotter_at_the_same_power_has_a_cooling_fault() -> None:
    assert overheated(67.0, 505.0) == {"rack:r1"}
    assert overheated(72.0, 505.0) == {"rack:r1", "device:node1", "device:node2"}


def test_a_rack_is_not_warm_for_one_host_of_two() -> None:
    assert overheated({"node1": 69.0, "node2": 65.0}, 505.0) == set()


def test_heat_that_comes_from_power_is_none() -> None:
    assert overheated(72.0, 640.0) == set()
    assert overheated(65.0, 500.0) == set()


@pytest.mark.parametrize(("watts", "expected"), [(155.0, {"rack:r1", "device:node1", "device:node2"}), (700.0, set())])
def test_a_reading_in_a_kernel_is_warmer_than_those_between_kernels(watts: float, expected: set[str]) -> None:
    """GPUs draw 500 W on average all the time. watts: of the moment at which later readings are taken; it was 155."""
    engine = Engine(CONFIG)
    engine.add_facts(TopologyFact(Device(host, Role.HOST, rack=RACKS[host]), START_NS - 1, "test") for host in HOSTS)
    tables = _tables(("gpu_temperature_celsius", "gpu_power_watts", "gpu_energy_joules_total"))
    batches = []
    for seq in range(USUAL_ROUNDS + ROUNDS):
        for host in HOSTS:
            later = seq >= USUAL_ROUNDS and host in HOSTS[:2]
            moment = [73.0, watts] if later else [62.0, 155.0]
            batches.append(batch(tables[host], seq, [*moment, 500.0 * CONFIG.interval_s * seq + 0.1] * GPUS))
    ends = USUAL_ROUNDS + ROUNDS
    outputs = run(engine, [*batches, *clockwork(0, range(ends, ends + 2))])
    found = [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.OVERHEATED]
    assert {str(one.object) for one in found} == expected


def test_one_host_alone_is_too_warm_when_half_of_its_reserve_is_gone_on_most_of_its_gpus() -> None:
    assert overheated(72.0, 500.0, hosts=("node1",)) == {"device:node1"}
    assert overheated(68.0, 500.0, hosts=("node1",)) == set()  # what fans that follow the load do
    assert overheated(72.0, 500.0, hosts=("node1",), gpus=2) == set()  # GPUs of their own
    assert overheated(72.0, 500.0, hosts=("node1",), gpus=3) == {"device:node1"}


def test_a_host_whose_readings_lie_apart_at_the_same_power_needs_more() -> None:
    assert overheated(72.0, 500.0, hosts=("node1",), apart=8.0) == set()
    assert overheated(92.0, 500.0, hosts=("node1",), apart=8.0) == {"device:node1"}
    assert overheated(68.0, 500.0, apart=4.0) == set()  # a rack


@pytest.mark.parametrize(("reported", "margin"), [(False, 87.0 - 72.5), (True, 95.0 - 72.5)])
def test_a_warm_host_says_how_far_its_warmest_gpu_is_from_slowing_down(reported: bool, margin: float) -> None:
    found = findings(72.0, 500.0, ("node1",), margins=reported)[-1]
    evidence = found.evidence[1]
    assert (evidence.series, evidence.unit) == ('least(gpu_temperature_margin_celsius{device="node1"})', "kelvin")
    assert evidence.value == pytest.approx(margin, abs=0.5)


def test_how_far_that_is_counts_at_the_power_that_the_gpu_may_draw() -> None:
    """As far as readings of one GPU lie apart at the same power, what is to come may be in them already."""
    margins = {limit: findings(72.0, 500.0, ("node1",), limit=limit)[-1].evidence[1].value for limit in (400, 700, 900)}
    assert margins[400] == pytest.approx(95.0 - 72.5, abs=0.8)
    assert margins[400] - 200.0 * 0.055 < margins[700] < margins[400] - 3.0
    assert margins[700] - margins[900] == pytest.approx(200.0 * 0.055, abs=0.5)


def test_that_heat_is_about_to_slow_a_gpu_is_evidence_of_its_own() -> None:
    """A finding with more evidence than before is published at once, and so is a page."""
    assert {len(found.evidence) for found in findings(72.0, 500.0, ("node1",), limit=500.0)} == {2}
    assert {len(found.evidence) for found in findings(88.0, 500.0, ("node1",), limit=700.0)} == {3}


def test_hosts_whose_racks_nobody_recorded_are_too_warm_each_by_itself() -> None:
    assert overheated(72.0, 505.0, racks={}) == {"device:node1", "device:node2"}
    assert overheated(72.0, 505.0, hosts=HOSTS, racks={}) == set()


def test_heat_of_all_racks_while_the_room_warms_up_is_none() -> None:
    assert overheated(72.0, 505.0, hosts=HOSTS) == set()


@pytest.mark.parametrize(
    ("later", "expected"), [([36.0, 36.5, 37.0, 36.5], True), ([31.0, 31.5, 31.0, 31.5], True), ([26.0] * 4, False)]
)
def test_inlet_air_beyond_what_is_allowed_or_far_above_its_own_normal(later: list[float], expected: bool) -> None:
    rows = [[value] for value in [*[22.0, 22.5, 21.5] * 8, *later]]
    found = [one for one in judged([INLET], rows, device="node1") if isinstance(one, Finding)]
    assert any(one.kind is FindingKind.OVERHEATED for one in found) is expected
