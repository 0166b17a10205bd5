"""Conditions by name: what is accepted, what is refused and why, and that nothing changes unless one is given."""

import dataclasses

import numpy as np
import pytest
from pydantic import ValidationError

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.conditions.config import STRENGTH_MAX, ConditionConfig
from simulator.conditions.registry import CONDITIONS
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import parse_fault

MIX = JobMix(lifetime_s=20.0, gap_s=2.0, checkpoint_period_s=10.0, checkpoint_bytes=5e9)


def cluster_with(*names: str, jobs: JobMix = MIX) -> SimulatedCluster:
    conditions = tuple(ConditionConfig(name=name) for name in names)
    config = SimulatorConfig(hosts=4, gpus_per_host=2, spines=2, step_ms=50, jobs=jobs, seed=3, conditions=conditions)
    return SimulatedCluster(config, start_ns=7)


def fingerprint(cluster: SimulatedCluster) -> bytes:
    r = cluster.readings
    groups = (r.ports, r.nics, r.gpus, r.hosts, r.storage, r.devices)
    return b"".join(getattr(g, f.name).tobytes() for g in groups for f in dataclasses.fields(g))


def test_every_name_has_a_condition_and_a_largest_strength() -> None:
    assert set(CONDITIONS) == set(STRENGTH_MAX)
    assert all(CONDITIONS[name].name == name for name in CONDITIONS)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "gremlins"}, r"no condition 'gremlins', expected one of pcie-hiccups, power-cap"),
        ({"name": "hash-collisions", "strength": 1.5}, r"strength 1.5: hash-collisions has a meaning up to 1"),
        ({"name": "power-cap", "strength": 0.0}, "strength\n.*greater than 0"),
        ({"name": "power-cap", "strength": float("inf")}, "strength\n.*finite"),
        ({"name": "power-cap", "target": "node1"}, "target\n.*Extra inputs"),
    ],
)
def test_bad_input_is_refused_with_what_was_expected(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SimulatorConfig(conditions=[given])


def test_a_condition_is_given_once() -> None:
    twice = (ConditionConfig(name="power-cap"), ConditionConfig(name="power-cap", strength=0.5))
    with pytest.raises(ValidationError, match="condition power-cap: given 2 times, expected once"):
        SimulatorConfig(conditions=twice)


@pytest.mark.parametrize("name", list(CONDITIONS))
def test_time_may_be_sliced_in_any_way(name: str) -> None:
    whole, sliced = cluster_with(name), cluster_with(name)
    for cluster in (whole, sliced):
        cluster.inject(parse_fault("slow-receiver@3s+5s"))
    whole.advance(7 + 20 * NS_PER_S)
    rng = np.random.default_rng(3)
    while sliced.now_ns < 7 + 20 * NS_PER_S:
        sliced.advance(min(7 + 20 * NS_PER_S, sliced.now_ns + int(rng.integers(NS_PER_S // 10, 4 * NS_PER_S))))
    assert fingerprint(whole) == fingerprint(sliced)
    assert whole.changes == sliced.changes


def test_all_conditions_and_faults_of_the_same_parts_go_together() -> None:
    cluster = cluster_with(*CONDITIONS)
    faults = ("slow-receiver@5s+10s", "slow-storage-target@10s+10s", "straggler-gpu@5s+20s", "rack-cooling@15s+20s")
    for fault in faults:
        cluster.inject(parse_fault(fault))
    cluster.advance(7 + 60 * NS_PER_S)
    readings, machine = cluster.readings, cluster.machine
    assert len(cluster.truth) == len(faults)
    assert np.isfinite(readings.storage.read_s).all()
    assert (machine.stalled == 0.0).all(), "the faults are over"
    assert (machine.storage.speed == 1.0).all()
    assert (machine.gpus.stuck == 1.0).all()
    assert (readings.ports.bytes.sum(axis=1) > 0.0).any()


def test_one_condition_draws_nothing_from_another_or_from_the_cluster() -> None:
    none = JobMix(jobs=0)  # jobs draw when it is their turn, and conditions delay them
    plain, alone = cluster_with(jobs=none), cluster_with("noise-with-memory", jobs=none)
    together = cluster_with("noise-with-memory", "other-clients", jobs=none)
    for cluster in (plain, alone, together):
        cluster.advance(7 + 10 * NS_PER_S)
    assert (alone.machine.hosts.inlet == together.machine.hosts.inlet).all()
    assert (alone.machine.optics.received_dbm == plain.machine.optics.received_dbm).all()
    assert (alone.readings.storage.read_bytes < together.readings.storage.read_bytes).all()
