"""Readings to serve in tests: every number is set, each to another value."""

import dataclasses

import numpy as np

from common.units import NS_PER_S
from simulator.compute.record import RunningJob
from simulator.config import SimulatorConfig
from simulator.counters.readings import Readings, blank_readings
from simulator.layout import Layout
from simulator.wiring import build_layout

NOW_NS = 1_795_000_000 * NS_PER_S
_RATIOS = ("utilization", "sm_active", "sm_occupancy", "tensor_active", "dram_active", "memory_copy", "ber")


def small_layout() -> Layout:
    return build_layout(SimulatorConfig(hosts=4))


def filled_readings(layout: Layout, now_ns: int = NOW_NS, seed: int = 1) -> Readings:
    """Counters are whole numbers below 2^50, ratios below 1; everything is up."""
    readings = blank_readings(layout, now_ns)
    rng = np.random.default_rng(seed)
    for group in ("ports", "nics", "gpus", "hosts", "storage", "devices"):
        arrays = getattr(readings, group)
        for one in dataclasses.fields(arrays):
            array = getattr(arrays, one.name)
            if array.dtype == np.bool_:
                array[...] = one.name != "daemon_down"
            elif one.name in _RATIOS or one.name.endswith("_ratio"):
                array[...] = rng.random(array.shape)
            elif array.dtype == np.float64:
                array[...] = rng.integers(1, 2**50, array.shape)
    readings.ports.speed[:] = 400e9
    readings.gpus.celsius[:] = rng.integers(30, 80, readings.gpus.celsius.shape)
    job = RunningJob("4711", "pretrain", "alice", "gpu", ("node1", "node2", "node3"), now_ns - 60 * NS_PER_S)
    readings.jobs.append(job)
    return readings


def later(readings: Readings, seconds: float, growth: float) -> Readings:
    """The readings ``seconds`` later, all port counters larger by ``growth``."""
    ports = readings.ports
    grown = {name: getattr(ports, name) + growth for name in ("bytes", "packets", "pause_frames", "queue_bytes")}
    now_ns = readings.now_ns + int(seconds * NS_PER_S)
    return dataclasses.replace(readings, now_ns=now_ns, ports=dataclasses.replace(ports, **grown))
