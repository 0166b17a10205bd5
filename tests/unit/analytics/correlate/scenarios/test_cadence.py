"""Waiting counts in the cadence of the evidence: seconds where everything nearby is read every second."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from analytics.correlate.config import CorrelateConfig
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind, IncidentState
from telemetry.kinds import HoldPolicy
from telemetry.topology import Device, Role
from tests.unit.analytics.correlate.small_fabric import TICK, Fabric, Run

K = FindingKind
TICK_S = TICK * 1e-9
CONFIG = CorrelateConfig()


def devices(cluster: Fabric) -> Mapping[str, Role | None]:
    """Roles, by name."""
    return {each.name: each.role for each in cluster.topology.entities(Device)}


@pytest.fixture
def often(cluster: Fabric) -> Mapping[str, float]:
    """All devices are read every second, which is known once a tick."""
    return dict.fromkeys(devices(cluster), TICK_S)


def one_end(cluster: Fabric, cadence_s: float) -> Finding:
    """A link between switches that one of its ends alone says is down: the other one may be dead."""
    return replace(cluster.find(K.LINK_DOWN, cluster.uplink(1, 1)), cadence_s=cadence_s)


def fires_after_s(run: Run, *found: Finding) -> float:
    """Seconds from the first finding to the first incident."""
    run.tick(*found)
    ticks = 0
    while not run.incidents:
        run.tick()
        ticks += 1
    return ticks * TICK_S


@pytest.mark.parametrize(("cadence_s", "hold_s"), [(0.0, 10.0), (1.0, 5.0), (5.0, 5.0), (9.9, 10.0), (30.0, 30.0)])
def test_a_link_waits_for_its_other_end_in_the_cadence_of_its_evidence(
    cadence_s: float, hold_s: float, cluster: Fabric, run: Run, often: Mapping[str, float]
) -> None:
    run.read_every_s = often
    assert fires_after_s(run, one_end(cluster, cadence_s)) == hold_s
    assert run.only.kind is IncidentKind.LINK_DOWN


def test_it_waits_for_hosts_that_would_show_a_dead_switch_and_are_read_more_rarely(
    cluster: Fabric, run: Run, often: Mapping[str, float]
) -> None:
    roles = devices(cluster)
    run.read_every_s = {name: each_s for name, each_s in often.items() if roles[name] is not Role.HOST}
    assert fires_after_s(run, one_end(cluster, 1.0)) == 10.0


def test_nothing_is_read_often_where_nobody_says_so(cluster: Fabric, run: Run) -> None:
    assert fires_after_s(run, one_end(cluster, 1.0)) == 10.0


@pytest.mark.parametrize(
    ("cadences_s", "keeps_s"), [((1.0, 1.0), 30.0), ((1.0, 0.0), 60.0), ((1.0, 10.0), 60.0), ((1.0, 30.0), 180.0)]
)
def test_an_incident_stays_open_for_six_cadences_of_its_slowest_evidence(
    cadences_s: tuple[float, float], keeps_s: float, cluster: Fabric, run: Run, often: Mapping[str, float]
) -> None:
    run.read_every_s = often
    ports = cluster.uplink(1, 1), cluster.downlink(1, 1)
    ends = [
        replace(cluster.find(K.LINK_DOWN, port), cadence_s=each) for port, each in zip(ports, cadences_s, strict=True)
    ]
    run.tick(*ends, ticks=2)
    run.clear(*ends)
    run.tick(ticks=round(keeps_s / TICK_S) - 1)
    states = [run.only.state]
    run.tick()
    assert [*states, run.only.state] == [IncidentState.FIRING, IncidentState.RESOLVED]


def test_an_incident_that_costs_a_job_something_stays_open_until_the_work_of_the_job_is_known(
    cluster: Fabric, run: Run, often: Mapping[str, float]
) -> None:
    run.read_every_s = often
    ends = [replace(cluster.find(K.LINK_DOWN, port), cadence_s=1.0) for port in (cluster.facing(1, 1), "node1/mlx5_0")]
    run.tick(*ends, ticks=2)
    assert run.only.gpu_seconds > 0.0
    run.clear(*ends)
    run.tick(ticks=11)
    states = [run.only.state]
    run.tick()
    assert [*states, run.only.state] == [IncidentState.FIRING, IncidentState.RESOLVED]


@pytest.mark.parametrize(("cadence_s", "waits_s"), [(1.0, 30.0), (10.0, 60.0), (30.0, 180.0)])
def test_a_symptom_waits_for_a_cause_in_its_cadence_and_that_of_its_neighbours(
    cadence_s: float, waits_s: float, cluster: Fabric, run: Run, often: Mapping[str, float]
) -> None:
    run.read_every_s = often
    paused = replace(cluster.find(K.PFC_PAUSE_RECEIVED, cluster.uplink(1, 1)), cadence_s=cadence_s)
    assert fires_after_s(run, paused) == waits_s
    assert run.only.kind is IncidentKind.CONGESTION


def test_who_waits_for_a_job_that_shows_it_rarely_waits_as_long(
    cluster: Fabric, run: Run, often: Mapping[str, float]
) -> None:
    """A job's work is known in bins of ten seconds, however often its GPUs are read."""
    run.read_every_s = often
    assert fires_after_s(run, replace(cluster.find(K.JOB_STALLED, "job:1"), cadence_s=10.0)) == 60.0


def test_a_tick_is_the_least_and_jitter_changes_nothing() -> None:
    counted = {0.0: 10.0, 0.5: 5.0, 5.0: 5.0, 5.1: 6.25, 9.7: 10.0, 10.0: 10.0, 10.3: 10.3, 30.0: 30.0, 900.0: 60.0}
    assert {each: CONFIG.intervals_ns(1.0, each) / 10**9 for each in counted} == counted


def test_what_has_shown_nothing_yet_is_read_once_an_interval() -> None:
    assert CONFIG.across_ns(2.0, [1.0]) == CONFIG.across_ns(2.0, []) == 20 * 10**9
    assert CONFIG.across_ns(2.0, [1.0, 30.0]) == 60 * 10**9
    assert CONFIG.hold_ns(HoldPolicy.SILENCE, 1.0) == 30 * 10**9


def test_a_part_of_an_interval_is_a_tick_whatever_the_cadence() -> None:
    assert {CONFIG.hold_ns(HoldPolicy.TICK, each) for each in (0.0, 1.0, 10.0, 30.0)} == {TICK}
