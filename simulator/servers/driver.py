"""The cluster in a thread of its own: everything that touches it runs there, one call after the other."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import structlog

from common.errors import ConfigError
from simulator.cluster import SimulatedCluster
from simulator.config import SimulatorConfig
from simulator.counters.readings import Readings
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import Truth
from simulator.servers.io_time import IoTimes
from simulator.servers.snapshot import copied
from telemetry.changes import Change

log = structlog.get_logger(__name__)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Moved:
    """The cluster after a step, in copies that it no longer touches."""

    readings: Readings
    truth: tuple[Truth, ...]
    changes: tuple[Change, ...]


class ClusterDriver:
    """Builds, moves and breaks the cluster. ``start`` first; ``stop`` at any time."""

    def __init__(self, config: SimulatorConfig, start_ns: int) -> None:
        self._config = config
        self._start_ns = start_ns
        self._thread = ThreadPoolExecutor(1, "cluster")

    async def start(self, faults: list[ScheduledFault]) -> Moved:
        """Builds the cluster and takes its first step, which is when the model is compiled."""
        return await self._call(lambda: self._build(faults))

    async def move(self, to_ns: int) -> Moved:
        """Advances the cluster to event time ``to_ns``; a fault whose target is not there is logged and forgotten."""
        return await self._call(lambda: self._advance(to_ns))

    async def inject(self, fault: ScheduledFault, *, from_now: bool) -> float:
        """Schedules a fault; ``at_s`` counts from now or from the start. Returns its time since the start, seconds.

        ConfigError when it begins at once and its target is not there.
        """
        return await self._call(lambda: self._inject(fault, from_now=from_now))

    async def end_fault(self, name: str) -> None:
        """Repairs every running fault of this name."""
        await self._call(lambda: self.cluster.end_fault(name))

    def stop(self) -> None:
        """Does not wait for a step that is under way."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _build(self, faults: list[ScheduledFault]) -> Moved:
        self.cluster = SimulatedCluster(self._config, self._start_ns)
        self.io_times = IoTimes(len(self.cluster.layout.targets))
        for fault in faults:
            self.cluster.inject(fault)
        return self._advance(self._start_ns + 1_000_000 * self._config.step_ms)

    def _advance(self, to_ns: int) -> Moved:
        try:
            self.cluster.advance(to_ns)
        except ConfigError as error:
            self.cluster.forget_refused()
            log.error("fault not injected", error=str(error))
        self.io_times.observe(self.cluster.readings.storage)
        return Moved(copied(self.cluster.readings), tuple(self.cluster.truth), tuple(self.cluster.changes))

    def _inject(self, fault: ScheduledFault, *, from_now: bool) -> float:
        elapsed_s = (self.cluster.now_ns - self._start_ns) / 1e9
        at_s = fault.at_s + (elapsed_s if from_now else 0.0)
        self.cluster.inject(fault.model_copy(update={"at_s": at_s}))
        if at_s <= elapsed_s:
            try:
                self.cluster.advance(self.cluster.now_ns + 1_000_000 * self._config.step_ms)
            except ConfigError:
                self.cluster.forget_refused()
                raise
        return max(at_s, elapsed_s)

    async def _call(self, act: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)
