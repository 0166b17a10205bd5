"""A day of the simulated cluster without a fault, as the values that its switches, GPUs and storage would report."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.compute.storage import RPCS_IN_FLIGHT
from simulator.compute.work.kind import WorkKind
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.counters.readings import RX, SW_POWER_CAP
from simulator.layout import LOSSLESS, Layout
from telemetry.topology import Role

Floats = NDArray[np.float64]

MIDNIGHT_NS = 19_676 * 86_400 * NS_PER_S  # some day, 0:00 UTC: load of inference follows the hour
READ_S, BIN_S = 10, 60
MICROSECONDS = 1e6
# All unkind conditions but a site's own power cap (the recorded H100 has none). Half of the storage targets are disks.
CONDITIONS = (
    ConditionConfig(name="pcie-hiccups"),
    ConditionConfig(name="recorded-h100"),
    ConditionConfig(name="chip-spread"),
    ConditionConfig(name="application-xids"),
    ConditionConfig(name="user-crashes"),
    ConditionConfig(name="cancelled-jobs"),
    ConditionConfig(name="hash-collisions"),
    ConditionConfig(name="other-clients"),
    ConditionConfig(name="one-stripe-files"),
    ConditionConfig(name="storage-rebuild"),
    ConditionConfig(name="metadata-load"),
    ConditionConfig(name="hdd-targets", strength=0.5),
    ConditionConfig(name="noise-with-memory"),
)
CONFIG = SimulatorConfig(
    hosts=8,
    seed=5,
    step_ms=50,
    conditions=CONDITIONS,
    jobs=JobMix(jobs=3, kinds=(WorkKind.DATA_PARALLEL, WorkKind.MIXTURE_OF_EXPERTS, WorkKind.INFERENCE)),
)


@dataclass(frozen=True, slots=True)
class Ports:
    """Of the switch ports of one tier, P, at bins of ``BIN_S``, B. The lossless priority alone.

    pause_share: [B, P] part of the time that the port is asked to pause. frames, transitions: [B, P] per second, of
    pause received. marked: [B, P] part of the packets marked at this port, NaN where few were sent. arrived: the same
    with the marks that packets arrive with; host ports only, else empty. sampled: [reads, P] bytes in the queue when
    read every ``READ_S``. peak: [B, P] most bytes in the queue within the bin.
    """

    pause_share: Floats
    frames: Floats
    transitions: Floats
    marked: Floats
    arrived: Floats
    sampled: Floats
    peak: Floats
    bits_per_second: float


@dataclass(frozen=True, slots=True)
class Day:
    """tiers: ``hosts`` (leaf ports to hosts), ``uplinks`` (leaf ports to spines), ``spines``.

    hertz, watts: [reads, G] as read every ``READ_S``. held: [reads, G] whether the power limit holds the clock then.
    read_s, write_s: [B, T] mean seconds of a request in a bin, NaN without any. disks: [T].
    """

    hours: float
    tiers: dict[str, Ports]
    hertz: Floats
    watts: Floats
    held: NDArray[np.bool_]
    read_s: Floats
    write_s: Floats
    disks: NDArray[np.bool_]


PACKETS_MIN = 1000.0  # in a bin, for a share of marked packets


def simulate(hours: float, config: SimulatorConfig = CONFIG) -> Day:
    """A day from midnight on, or its first ``hours``. 24 hours of 8 hosts take about five minutes of CPU."""
    cluster = SimulatedCluster(config, MIDNIGHT_NS)
    reader = _Reader(cluster)
    for k in range(1, round(hours * 3600 / READ_S) + 1):
        cluster.advance(MIDNIGHT_NS + k * READ_S * NS_PER_S)
        reader.read()
    return reader.day(hours)


class _Reader:
    def __init__(self, cluster: SimulatedCluster) -> None:
        self._cluster = cluster
        layout = cluster.layout
        self._tiers = {name: np.array(ports) for name, ports in _tiers(layout).items()}
        self._nics = np.array([layout.ports[port].nic for port in self._tiers["hosts"]])
        self._sampled: list[Floats] = []
        self._peaks: list[Floats] = []
        self._gpus: list[Floats] = []
        self._counters: list[Floats] = [self._now()]
        self._marked_arrivals: list[Floats] = [cluster.readings.nics.ecn_marked.copy()]
        self._storage: list[Floats] = [self._storage_now()]

    def read(self) -> None:
        readings = self._cluster.readings
        self._sampled.append(readings.ports.queue_occupancy[:, LOSSLESS].copy())
        self._peaks.append(readings.ports.queue_peak[:, LOSSLESS].copy())
        gpus = readings.gpus
        self._gpus.append(np.array([gpus.sm_clock_hertz, gpus.power_watts, gpus.throttle_mask & SW_POWER_CAP]))
        if len(self._sampled) % (BIN_S // READ_S) == 0:
            self._counters.append(self._now())
            self._marked_arrivals.append(readings.nics.ecn_marked.copy())
            self._storage.append(self._storage_now())

    def _now(self) -> Floats:
        p = self._cluster.readings.ports
        received = (p.pause_us, p.pause_frames, p.pause_transitions)
        return np.array(
            [*(x[:, LOSSLESS, RX] for x in received), p.queue_ecn_packets[:, LOSSLESS], p.queue_packets[:, LOSSLESS]]
        )

    def _storage_now(self) -> Floats:
        s = self._cluster.readings.storage
        return np.array([s.reads, s.writes, s.read_s, s.write_s])

    def day(self, hours: float) -> Day:
        counted = np.diff(np.array(self._counters), axis=0)  # [B, 5, P]
        arrived = np.diff(np.array(self._marked_arrivals), axis=0)
        stored = np.diff(np.array(self._storage), axis=0)
        gpus = np.array(self._gpus)
        with np.errstate(divide="ignore", invalid="ignore"):
            latency = np.where(stored[:, :2] > 0.0, stored[:, 2:] / stored[:, :2], np.nan)
        return Day(
            hours=hours,
            tiers={name: self._ports(name, counted, arrived) for name in self._tiers},
            hertz=gpus[:, 0],
            watts=gpus[:, 1],
            held=gpus[:, 2] > 0.0,
            read_s=latency[:, 0],
            write_s=latency[:, 1],
            disks=self._cluster.machine.storage.in_flight > RPCS_IN_FLIGHT,
        )

    def _ports(self, name: str, counted: Floats, arrived: Floats) -> Ports:
        at = self._tiers[name]
        pause_us, frames, transitions, marked, packets = np.moveaxis(counted[:, :, at], 1, 0)
        many = packets > PACKETS_MIN
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(many, marked / packets, np.nan)
            of_all = np.where(many, arrived[:, self._nics] / packets, np.nan) if name == "hosts" else np.zeros((0, 0))
        peaks = np.array(self._peaks)[:, at]
        return Ports(
            pause_share=pause_us / MICROSECONDS / BIN_S,
            frames=frames / BIN_S,
            transitions=transitions / BIN_S,
            marked=share,
            arrived=of_all,
            sampled=np.array(self._sampled)[:, at],
            peak=peaks.reshape(-1, BIN_S // READ_S, at.size).max(axis=1),
            bits_per_second=float(self._cluster.readings.ports.speed[at[0]]),
        )


def _tiers(layout: Layout) -> dict[str, list[int]]:
    """Positions of the ports of each tier; those of storage and of its leaves are left out."""
    roles = {device.name: device.role for device in layout.devices}
    hosts = set(layout.hosts)
    leaves = {port.device for port in layout.ports if port.nic >= 0 and layout.nics[port.nic].device in hosts}
    found: dict[str, list[int]] = {"hosts": [], "uplinks": [], "spines": []}
    for at, port in enumerate(layout.ports):
        if roles[port.device] is Role.SPINE:
            found["spines"].append(at)
        elif port.nic < 0 and port.device in leaves:
            found["uplinks"].append(at)
        elif port.nic >= 0 and layout.nics[port.nic].device in hosts:
            found["hosts"].append(at)
    return found
