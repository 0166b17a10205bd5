"""Hosts that take time to boot: dark and unreachable until then, and without a job."""

import numpy as np
import pytest
from pydantic import ValidationError

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.config import JobMix, SimulatorConfig
from simulator.faults.schedule import parse_fault

BOOT_S = (300.0, 720.0)
CONFIG = SimulatorConfig(hosts=4, gpus_per_host=2, jobs=JobMix(jobs=1), step_ms=50, boot_s=BOOT_S)


def reachable(cluster: SimulatedCluster, name: str) -> bool:
    return bool(cluster.readings.devices.reachable[cluster.layout.device_index[name]])


@pytest.fixture(scope="module")
def cluster() -> SimulatedCluster:
    found = SimulatedCluster(CONFIG, start_ns=0)
    found.inject(parse_fault("rack-power-loss@10s+20s:r1"))
    return found


def test_hosts_come_back_minutes_after_their_power(cluster: SimulatedCluster) -> None:
    layout = cluster.layout
    up_s: dict[str, int] = {}
    for second in range(20, 800, 10):
        cluster.advance(second * NS_PER_S)
        for host in layout.hosts:
            nics = layout.device_nics[host]
            up = cluster.readings.nics.up[nics.start : nics.stop]
            assert up.all() if reachable(cluster, host) else not up.any(), "links are dark while a host boots"
            if reachable(cluster, host):
                up_s.setdefault(host, second)
        if not up_s:
            assert cluster.jobs == []
    assert 30 + BOOT_S[0] <= min(up_s.values()) < max(up_s.values()) <= 30 + BOOT_S[1] + 10
    assert len(set(up_s.values())) == 4, "each takes its own time"
    boots_s = cluster.readings.devices.boot_ns[[layout.device_index[host] for host in layout.hosts]] / NS_PER_S
    assert up_s == {host: int(np.ceil(at / 10)) * 10 for host, at in zip(layout.hosts, boots_s, strict=True)}
    assert cluster.truth[0].end_ns / NS_PER_S == pytest.approx(boots_s.max(), abs=0.1), "the fault ends with the last"


def test_a_host_that_has_booted_takes_jobs_again(cluster: SimulatedCluster) -> None:
    cluster.advance(800 * NS_PER_S)
    assert cluster.machine.jobs.drained == set()
    assert cluster.jobs


def test_a_host_that_loses_power_while_it_boots_begins_again() -> None:
    cluster = SimulatedCluster(CONFIG.model_copy(update={"boot_s": (100.0, 100.0)}), start_ns=0)
    for fault in ("rack-power-loss@10s+10s:r1", "rack-power-loss@80s+20s:r1"):
        cluster.inject(parse_fault(fault))
    cluster.advance(195 * NS_PER_S)
    assert not reachable(cluster, "node1")
    cluster.advance(201 * NS_PER_S)
    assert reachable(cluster, "node1")
    assert cluster.machine.jobs.drained == set()


@pytest.mark.parametrize("boot_s", [(-1.0, 5.0), (10.0, 5.0), (0.0, float("inf"))])
def test_times_that_are_none_are_refused(boot_s: tuple[float, float]) -> None:
    with pytest.raises(ValidationError, match="boot_s"):
        SimulatorConfig(boot_s=boot_s)
