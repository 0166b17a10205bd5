"""Hosts: load, CPU time, memory, power and local disk."""

import math

import numpy as np
import pytest

from simulator.compute.figures import COMPUTE, IDLE
from simulator.compute.hosts import BASE_WATTS, CORES, LOG_BYTES_PER_S, MEMORY_BYTES, WATTS_PER_CORE, Hosts
from simulator.config import SimulatorConfig
from simulator.fabric.state import Floats
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=2, gpus_per_host=4))


def activity(busy_gpus: int) -> Floats:
    """The first GPUs of node1 compute, all others are idle."""
    found = np.zeros((len(LAYOUT.gpus), 5))
    found[:, IDLE] = 1.0
    found[:busy_gpus] = 0.0
    found[:busy_gpus, COMPUTE] = 1.0
    return found


def ticked(seconds: int, busy_gpus: int, gpu_watts: float = 100.0) -> Hosts:
    hosts = Hosts(LAYOUT, np.random.default_rng(1))
    for _ in range(seconds):
        hosts.tick(1.0, activity(busy_gpus), np.full(len(LAYOUT.gpus), gpu_watts))
    return hosts


def test_every_busy_gpu_keeps_four_cores_busy() -> None:
    hosts = ticked(200, busy_gpus=4)
    assert hosts.busy_s[0] == pytest.approx(200 * (1.5 + 4 * 4), rel=0.02)
    assert hosts.busy_s[1] == pytest.approx(200 * 1.5)


def test_busy_and_idle_time_add_up_to_all_cores() -> None:
    hosts = ticked(10, busy_gpus=3)
    assert (hosts.busy_s + hosts.idle_s).tolist() == pytest.approx([10.0 * CORES] * 2)


def test_load_approaches_the_busy_cores_with_a_minute() -> None:
    hosts = ticked(60, busy_gpus=0)
    assert hosts.load[1] == pytest.approx(1.5 + (1.0 - 1.5) * math.exp(-1.0))


def test_busy_gpus_take_memory_of_their_host() -> None:
    hosts = ticked(1, busy_gpus=4)
    assert hosts.available.tolist() == pytest.approx([MEMORY_BYTES * 0.92, MEMORY_BYTES * 0.97])


def test_power_is_that_of_the_board_its_cores_and_its_gpus() -> None:
    hosts = ticked(1, busy_gpus=0, gpu_watts=250.0)
    assert hosts.watts.tolist() == pytest.approx([BASE_WATTS + WATTS_PER_CORE * 1.5 + 4 * 250.0] * 2)


def test_logs_are_written_in_blocks_and_nothing_is_read() -> None:
    hosts = ticked(2000, busy_gpus=0)
    assert hosts.written.sum() == pytest.approx(2 * 2000 * LOG_BYTES_PER_S, rel=0.05)
    assert (hosts.written / hosts.writes).tolist() == [65536.0] * 2
    assert hosts.io_s.tolist() == pytest.approx((hosts.writes * 60e-6).tolist())
    assert hosts.read.sum() == hosts.reads.sum() == 0.0
