"""Short stalls of healthy receivers: how much of the time ports are paused by them, and how that varies."""

import functools

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.fabric.state import Floats
from simulator.faults.congestion import SlowReceiver
from simulator.faults.schedule import parse_fault
from simulator.layout import LOSSLESS

MINUTES = 6


def cluster_of(strength: float, jobs: int = 2, step_ms: int = 50) -> SimulatedCluster:
    conditions = (ConditionConfig(name="pcie-hiccups", strength=strength),) if strength else ()
    mix = JobMix(jobs=jobs)
    return SimulatedCluster(SimulatorConfig(step_ms=step_ms, jobs=mix, seed=5, conditions=conditions), start_ns=0)


@functools.cache
def shares(strength: float, jobs: int = 2, step_ms: int = 50, minutes: int = MINUTES) -> Floats:
    """[minutes, host-facing leaf ports]: part of each minute for which the host paused the port."""
    cluster = cluster_of(strength, jobs, step_ms)
    hosts = set(cluster.layout.hosts)
    ports = [nic.port for nic in cluster.layout.nics if nic.device in hosts]
    found, before = [], np.zeros(len(ports))
    for minute in range(1, minutes + 1):
        cluster.advance(minute * 60 * NS_PER_S)
        now = cluster.readings.ports.pause_us[ports, LOSSLESS, 0].copy()
        found.append((now - before) / 60e6)
        before = now
    return np.array(found)


def test_ports_with_traffic_are_paused_for_about_three_thousandths_of_the_time() -> None:
    assert 0.0015 < shares(1.0).mean() < 0.0045


@pytest.mark.parametrize("step_ms", [10, 20])
def test_the_share_hardly_depends_on_the_step(step_ms: int) -> None:
    assert 0.0012 < shares(1.0, 2, step_ms, 2).mean() < 0.006


def test_there_are_quiet_and_bad_minutes() -> None:
    low, middle, high = np.percentile(shares(1.0), [10, 50, 95])
    assert high > 2.5 * middle, "1.5 if all minutes were alike"
    assert middle > 2.0 * low


def test_the_ports_of_a_host_have_their_bad_minutes_together() -> None:
    by_host = shares(1.0).reshape(MINUTES, -1, 8)  # NICs of a host lie side by side
    first, second = by_host[:, :, :4].mean(axis=2).ravel(), by_host[:, :, 4:].mean(axis=2).ravel()
    assert np.corrcoef(np.log(first + 1e-5), np.log(second + 1e-5))[0, 1] > 0.7


def test_no_healthy_host_stalls_as_much_as_the_weakest_slow_receiver() -> None:
    cluster = cluster_of(10.0)
    stalled = np.zeros(len(cluster.layout.nics))
    for step in range(1200):
        cluster.advance((step + 1) * NS_PER_S // 20)
        stalled += cluster.machine.hiccups / 1200
    weakest = SlowReceiver.strengths[0] * np.mean(SlowReceiver.STALL_S)
    assert 0.09 < stalled.max() < weakest / (weakest + np.mean(SlowReceiver.RUN_S))


def test_more_strength_is_more_pause_and_none_is_none() -> None:
    assert shares(0.0, minutes=2).sum() == 0.0
    assert 2.0 * shares(0.3, minutes=2).mean() < shares(1.0).mean()


def test_without_traffic_nobody_pauses() -> None:
    assert shares(1.0, jobs=0, minutes=1).sum() == 0.0


def test_a_slow_receiver_stands_out_and_ends() -> None:
    cluster = cluster_of(0.5)
    cluster.inject(parse_fault("slow-receiver@60s+60s:node3/mlx5_2"))
    nic = cluster.layout.nic_index["node3", "mlx5_2"]
    port = cluster.layout.nics[nic].port
    paused = []
    for minute in (1, 2, 3):
        cluster.advance(minute * 60 * NS_PER_S)
        paused.append(float(cluster.readings.ports.pause_us[port, LOSSLESS, 0]))
    assert paused[1] - paused[0] > 0.1 * 60e6
    assert paused[2] - paused[1] < 0.02 * 60e6
