"""other-clients, storage-rebuild, hdd-targets: targets that give these hosts less than all they could."""

import numpy as np

from common.jit import compiled_unchecked
from simulator.compute.storage import READ, RPC_BYTES, SERVICE_S, TARGET_BYTES_PER_S, WRITE
from simulator.conditions.base import Condition
from simulator.conditions.processes import SlowNoise, log_normal_of_mean
from simulator.fabric.state import Flags, Floats, Ints
from simulator.machine import Machine


class _TakesThroughput(Condition):
    """Takes a part of each target's throughput, besides what other conditions and faults take."""

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        self._left: Floats = np.ones(len(machine.layout.targets))

    def take(self, part: Floats) -> None:
        """part: [T] of the throughput that is taken from now on, 0 <= part < 1."""
        left = 1.0 - part
        self.machine.storage.free *= left / self._left
        self._left = left


class OtherClients(_TakesThroughput):
    """Clients outside of the cluster share the file system: other clusters, logins, data movers.

    Their transfers take another network and show in the targets' counters only. A fifth of each target in the mean,
    log-normal and with a memory of minutes. Bursty and uneven load of shared file systems: Lockwood et al., A Year in
    the Life of a Parallel File System, SC 2018; the numbers are assumptions.
    """

    name = "other-clients"
    MEAN, SIGMA, MEMORY_S, MOST = 0.2, 0.8, 120.0, 0.85
    READS = 0.6  # part of their bytes

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        layout = machine.layout
        self._noise = SlowNoise(self.rng, len(layout.targets), self.MEMORY_S)
        self._servers = np.array([layout.device_index[target.server] for target in layout.targets])
        self._load: Floats = np.zeros(len(layout.targets))

    def step(self) -> None:
        if self.every(1.0):
            load = self.MEAN * self.strength * log_normal_of_mean(self._noise.advance(1.0), self.SIGMA)
            self._load = np.minimum(self.MOST, load)
            self.take(self._load)
        storage, dt = self.machine.storage, self.machine.dt
        _serve_others(
            dt,
            self._load,
            self.READS,
            self.machine.links.device_on,
            self._servers,
            storage.speed,
            storage.in_flight,
            storage.client_limit,
            storage.depth,
            storage.target_bytes,
            storage.target_seconds,
        )


@compiled_unchecked
def _serve_others(
    dt: float,
    load: Floats,
    reads: float,
    device_on: Flags,
    servers: Ints,
    speed: Floats,
    in_flight: Floats,
    client_limit: Floats,
    depth: Floats,
    moved: Floats,
    seconds: Floats,
) -> None:
    """Adds what other clients moved in ``dt`` seconds, and the service times of their RPCs, to moved, seconds: [2, T].

    reads: part of their bytes. servers: [T] device of each target.
    """
    for t in range(load.size):
        served = TARGET_BYTES_PER_S * speed[t] * load[t] * device_on[servers[t]] * dt
        # Processor sharing: 1 / (mu (1 - rho)) among themselves (M/M/1), and the RPCs of these hosts before theirs.
        alone_s = max(SERVICE_S, in_flight[t] * RPC_BYTES / client_limit[t])
        own_s = alone_s / (1.0 - load[t])
        service_s = (own_s + depth[t] * RPC_BYTES / TARGET_BYTES_PER_S) / speed[t]
        for kind, part in ((READ, reads), (WRITE, 1.0 - reads)):
            moved[kind, t] += part * served
            seconds[kind, t] += part * served / RPC_BYTES * service_s


class StorageRebuild(_TakesThroughput):
    """A disk was replaced: the rebuild of its RAID group takes a third of one target's throughput for a while.

    Nobody announces it, and it needs nobody. Share: the rebuild rate of RAID controllers, 30 % by default (Broadcom
    MegaRAID). Times are assumptions, shorter than real ones so that a campaign of an hour sees some: eight minutes,
    after a quarter of an hour (divided by strength) without one on the average.
    """

    name = "storage-rebuild"
    SHARE, QUIET_S, LASTS_S, SIGMA = 1 / 3, 900.0, 480.0, 0.5

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        self._rebuilds = False
        self._until_s = self._quiet_s()

    def step(self) -> None:
        elapsed_s = self.machine.steps * self.machine.dt
        if elapsed_s < self._until_s:
            return
        self._rebuilds = not self._rebuilds
        part = np.zeros(len(self.machine.layout.targets))
        if self._rebuilds:
            part[self.rng.integers(part.size)] = self.SHARE
            self._until_s = elapsed_s + self.LASTS_S * float(np.exp(self.SIGMA * self.rng.normal()))
        else:
            self._until_s = elapsed_s + self._quiet_s()
        self.take(part)

    def _quiet_s(self) -> float:
        return float(self.rng.exponential(self.QUIET_S / self.strength))


class HddTargets(_TakesThroughput):
    """Targets of disks: a third of the throughput, and RPCs that take 20 to 100 ms.

    A disk serves a random 1 MiB in about 17 ms (8 ms seek, 4 ms half a turn, 5 ms at 200 MB/s: usual for 7200 rpm);
    with a few in the queue of each disk 20 to 100 ms, and longer where many clients share the target. Drawn by target,
    log-normal with a memory of half a minute (assumption). A client has 32 RPCs in flight instead of 8 (Lustre's
    max_rpcs_in_flight, raised as usual for slow targets), so these times limit it to 32 MiB / time. strength: part of
    the targets that are disks.
    """

    name = "hdd-targets"
    LOST, MEDIAN_S, SIGMA, MEMORY_S = 2 / 3, 0.045, 0.4, 30.0
    SHORTEST_S, LONGEST_S = 0.02, 0.1
    IN_FLIGHT = 32.0

    def __init__(self, machine: Machine, strength: float = 1.0) -> None:
        super().__init__(machine, strength)
        n = len(machine.layout.targets)
        self._noise = SlowNoise(self.rng, n, self.MEMORY_S)
        self._disks = self.rng.permutation(n)[: max(1, round(strength * n))]
        part = np.zeros(n)
        part[self._disks] = self.LOST
        self.take(part)
        machine.storage.in_flight[self._disks] = self.IN_FLIGHT

    def step(self) -> None:
        if self.every(1.0):
            times = self.MEDIAN_S * np.exp(self.SIGMA * self._noise.advance(1.0)[self._disks])
            limits = self.IN_FLIGHT * RPC_BYTES / np.clip(times, self.SHORTEST_S, self.LONGEST_S)
            self.machine.storage.client_limit[self._disks] = limits
