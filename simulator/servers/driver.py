"""The simulated cluster in a thread of its own: every call to it runs there, one after the other."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import structlog

from common.errors import ConfigError
from common.units import NS_PER_MS, NS_PER_S
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
class ClusterState:
    """The simulated cluster after a step, as copies that it no longer changes."""

    readings: Readings
    truth: tuple[Truth, ...]
    changes: tuple[Change, ...]


class ClusterDriver:
    """Builds, advances and breaks the simulated cluster. ``start`` first; ``stop`` at any time."""

    def __init__(self, config: SimulatorConfig, start_ns: int) -> None:
        self._config = config
        self._start_ns = start_ns
        self._thread = ThreadPoolExecutor(1, "cluster")

    async def start(self, faults: Sequence[ScheduledFault]) -> ClusterState:
        """Builds the cluster and takes its first step, which is when the model is compiled."""
        return await self._call(lambda: self._build(faults))

    async def advance(self, to_ns: int) -> ClusterState:
        """Advances to event time ``to_ns``; a fault whose target does not exist is logged and dropped."""
        return await self._call(lambda: self._advance(to_ns))

    async def inject(self, fault: ScheduledFault, *, from_now: bool) -> float:
        """Schedules a fault; ``at_s`` counts from now or from the start. Returns its time since the start, seconds.

        ConfigError when it begins at once and its target does not exist.
        """
        return await self._call(lambda: self._inject(fault, from_now=from_now))

    async def end_fault(self, name: str) -> None:
        """Ends every active fault of this name."""
        await self._call(lambda: self.cluster.end_fault(name))

    def stop(self) -> None:
        """Returns at once; a step that is under way ends by itself."""
        self._thread.shutdown(wait=False, cancel_futures=True)

    def _build(self, faults: Sequence[ScheduledFault]) -> ClusterState:
        self.cluster = SimulatedCluster(self._config, self._start_ns)
        self.io_times = IoTimes(len(self.cluster.layout.targets))
        for fault in faults:
            self.cluster.inject(fault)
        return self._advance(self._start_ns + NS_PER_MS * self._config.step_ms)

    def _advance(self, to_ns: int) -> ClusterState:
        try:
            self.cluster.advance(to_ns)
        except ConfigError as error:
            log.error("fault rejected", target=self.cluster.drop_rejected_fault(), error=str(error))
        self.io_times.observe(self.cluster.readings.storage)
        return ClusterState(copied(self.cluster.readings), tuple(self.cluster.truth), tuple(self.cluster.changes))

    def _inject(self, fault: ScheduledFault, *, from_now: bool) -> float:
        elapsed_s = (self.cluster.now_ns - self._start_ns) / NS_PER_S
        at_s = fault.at_s + (elapsed_s if from_now else 0.0)
        self.cluster.inject(fault.model_copy(update={"at_s": at_s}))
        if at_s <= elapsed_s:
            try:
                self.cluster.advance(self.cluster.now_ns + NS_PER_MS * self._config.step_ms)
            except ConfigError:
                self.cluster.drop_rejected_fault()
                raise
        return max(at_s, elapsed_s)

    async def _call(self, act: Callable[[], R]) -> R:
        return await asyncio.get_running_loop().run_in_executor(self._thread, act)
