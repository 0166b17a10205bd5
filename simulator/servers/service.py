"""SimulatorService: the simulated cluster in (scaled) real time, served on its real ports."""

import asyncio
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import structlog
from aiohttp import web

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.faults.schedule import ScheduledFault
from simulator.faults.truth import write_truth
from simulator.layout import Exporter, Layout
from simulator.servers.addresses import CONTROL_PORT, SLURM_HOST, with_offset
from simulator.servers.clock import SimulatedClock, default_start_ns
from simulator.servers.collection.caches import ExporterCaches
from simulator.servers.collection.plan import CollectionPlan
from simulator.servers.config import ServeConfig
from simulator.servers.control import control_app
from simulator.servers.driver import ClusterDriver, ClusterState
from simulator.servers.gnmi.server import Credentials
from simulator.servers.listeners import build_listeners, gnmi_credentials
from simulator.servers.open_files import allow_open_files
from simulator.servers.pages.slurm import jobs_document
from simulator.servers.reachability import Listener, apply_reachability
from simulator.servers.settings import settings_text
from simulator.servers.snapshot import Latest

log = structlog.get_logger(__name__)

_CATCH_UP = 4  # after a pause the simulation runs at most this many times faster than ``speed``
_STEPS_OF_INTERVAL = 4  # a sample is at most a quarter of its interval old
_STOP_S = 5.0


class SimulatorService:
    """Serves a simulated cluster from ``start`` to ``stop``."""

    def __init__(self, config: ServeConfig) -> None:
        self.config = config
        self._driver: ClusterDriver | None = None
        self._listeners: dict[int, list[Listener]] = {}
        self._control: web.AppRunner | None = None
        self._task: asyncio.Task[None] | None = None
        self._state: ClusterState
        self._caches: ExporterCaches | None = None
        self._step_s = config.step_s
        self._folder = Path(tempfile.gettempdir()) / f"fabricscope-simulator-{config.address_offset}"

    @property
    def control_url(self) -> str:
        return f"http://{with_offset(SLURM_HOST, self.config.address_offset)}:{CONTROL_PORT}"

    @property
    def layout(self) -> Layout:
        assert self._driver is not None, "start the service first"
        return self._driver.cluster.layout

    async def start(self) -> None:
        """Returns when everything is served. ConfigError when an address is taken or a fault is not possible."""
        config = self.config
        start_ns = config.start_ns if config.start_ns is not None else default_start_ns(config.speed, time.time_ns())
        self._driver = ClusterDriver(config.cluster, start_ns)
        try:
            self._state = await self._driver.start(config.faults)
            self._latest = self._served = Latest(self._state.readings)
            credentials = await asyncio.to_thread(gnmi_credentials, config, self.layout, self._folder)
            self._listeners = self._build_listeners(config, self._driver, credentials, start_ns)
            await self._open()
        except BaseException:
            await self.stop()
            raise
        self._clock = SimulatedClock(self._latest().now_ns, config.speed)
        self._task = asyncio.create_task(self._run())

    async def wait(self) -> None:
        """Waits until the simulation fails, and raises its error."""
        assert self._task is not None, "start the service first"
        await self._task

    async def stop(self) -> None:
        """Closes every address. Safe before ``start``, and twice."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task
        with suppress(TimeoutError):
            async with asyncio.timeout(_STOP_S):
                servers = [one for group in self._listeners.values() for one in group]
                await asyncio.gather(*(server.close() for server in servers))
                if self._control is not None:
                    await self._control.cleanup()
        self._listeners, self._control = {}, None
        if self._driver is not None:
            self._driver.stop()

    def write_config(self, path: Path) -> None:
        """Writes settings that collect from this simulator, and the inventory beside them; replaces each atomically."""
        for target, text in settings_text(self.config, self.layout, path, time.time_ns(), self._clock.now_ns()).items():
            draft = target.with_name(target.name + ".draft")
            draft.write_text(text)
            draft.replace(target)

    def _build_listeners(
        self, config: ServeConfig, driver: ClusterDriver, credentials: Credentials, start_ns: int
    ) -> dict[int, list[Listener]]:
        layout = driver.cluster.layout
        if config.collection is None:
            return build_listeners(config, layout, self._latest, driver.io_times, credentials)
        plan = CollectionPlan(config.collection, config.cluster, layout, start_ns)
        self._caches = ExporterCaches(plan, layout, self._state.readings, driver.io_times)
        self._served = Latest(self._caches.serve(self._state.readings))
        self._step_s = min(self._step_s, plan.shortest_s / config.speed / _STEPS_OF_INTERVAL)
        return build_listeners(config, layout, self._served, self._caches, credentials, plan)

    async def _open(self) -> None:
        allow_open_files(sum(map(len, self._listeners.values())))
        try:
            await asyncio.gather(*(server.open() for group in self._listeners.values() for server in group))
            self._control = web.AppRunner(control_app(self), access_log=None, shutdown_timeout=1.0)
            await self._control.setup()
            await web.TCPSite(self._control, with_offset(SLURM_HOST, self.config.address_offset), CONTROL_PORT).start()
        except OSError as error:
            raise ConfigError(f"simulator: {error}; is another one running? try address_offset") from error

    async def _run(self) -> None:
        assert self._driver is not None
        step_ns_max = int(_CATCH_UP * self._step_s * self.config.speed * NS_PER_S)
        while True:
            began = time.monotonic()
            to_ns = min(self._clock.now_ns(), self._latest().now_ns + step_ns_max)
            self._publish(await self._driver.advance(to_ns))
            await apply_reachability(self._listeners, self._latest(), self.config.unreachable)
            await asyncio.sleep(max(0.0, self._step_s - (time.monotonic() - began)))

    def _publish(self, new: ClusterState) -> None:
        known, self._state = self._state, new
        self._latest.publish(new.readings)
        if self._caches is not None:
            self._served.publish(self._caches.serve(new.readings))
        if self.config.truth_file is not None and new.truth != known.truth:
            write_truth(self.config.truth_file, list(new.truth))
        if self.config.squeue_file is not None and new.readings.jobs != known.readings.jobs:
            self.config.squeue_file.write_text(jobs_document(new.readings, self.config.cluster.gpus_per_host))

    # The control port's answers.

    def truth(self) -> Mapping[str, Any]:
        return {"truth": [orjson.loads(one.line()) for one in self._state.truth]}

    def changes(self) -> Mapping[str, Any]:
        return {"changes": orjson.loads(orjson.dumps(self._state.changes))}

    def clock(self) -> Mapping[str, Any]:
        """lag_s: simulated seconds by which the simulation is behind its clock; large when the machine is too slow."""
        now_ns = self._latest().now_ns
        return {
            "now_ns": now_ns,
            "start_ns": self._clock.start_ns,
            "speed": self.config.speed,
            "lag_s": (self._clock.now_ns() - now_ns) / NS_PER_S,
        }

    def state(self) -> Mapping[str, Any]:
        readings, layout = self._latest().readings, self.layout
        reachable = readings.devices.reachable.tolist()
        return {
            "now_ns": readings.now_ns,
            "devices": {device.name: here for device, here in zip(layout.devices, reachable, strict=True)},
            "ports_down": [
                f"{port.device}/{port.name}"
                for port, up in zip(layout.ports, readings.ports.up.tolist(), strict=True)
                if not up
            ],
            "frozen": [
                f"{endpoint.exporter}/{endpoint.device}"
                for endpoint, frozen in zip(layout.endpoints, readings.frozen.tolist(), strict=True)
                if frozen and endpoint.exporter is not Exporter.SLURM
            ],
            "jobs": orjson.loads(orjson.dumps(readings.jobs)),
        }

    async def inject(self, wanted: ScheduledFault, *, from_now: bool) -> Mapping[str, Any]:
        """``at_s`` of the answer: seconds since the start. ConfigError when the target does not exist."""
        assert self._driver is not None
        return {"fault": wanted.fault, "at_s": await self._driver.inject(wanted, from_now=from_now)}

    async def end_fault(self, name: str) -> Mapping[str, Any]:
        assert self._driver is not None
        await self._driver.end_fault(name)
        return {"ended": name}
