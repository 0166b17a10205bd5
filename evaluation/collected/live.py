"""A simulated cluster and the whole product on one machine: real gNMI and HTTP, the bus, every stage a process."""

import asyncio
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

import aiohttp
import yaml

from alerts.config import AlertingConfig
from bus.open import open_bus
from common.errors import Unavailable
from common.tasks import cancel
from common.units import NS_PER_S
from evaluation.collected.observed import Inbox, Observed
from fabricscope.clock import event_clock
from fabricscope.running.children import StageChildren
from fabricscope.running.supervisor import Child
from fabricscope.settings import MetricsPorts, load_settings

_START_S = 300.0  # the first start of a version compiles
_LOOK_S = 0.2
_ALERTING_WAITS = ("quiet_s", "update_quiet_s", "pages_window_s", "drops_hold_s")


class LiveCampaign:
    """Runs between ``async with`` and its end; logs, bus and settings stay in ``folder``, which must be empty.

    cluster: the content of a cluster file. speed: simulated seconds per second. address_offset: of the cluster.
    """

    def __init__(self, folder: Path, cluster: Mapping[str, Any], speed: float, address_offset: int) -> None:
        self._folder, self._cluster, self._speed = folder, cluster, speed
        self._control = f"http://127.4.{address_offset}.1:6821"
        self.settings_file = folder / "fabricscope.yaml"
        arguments = ["simulate", "--cluster", str(folder / "cluster.yaml"), "--speed", f"{speed:g}"]
        arguments += ["--address-offset", str(address_offset), "--config-out", str(self.settings_file)]
        self._simulator = Child("simulate", arguments, folder / "simulate.log")
        self.observed = Observed()
        self._inbox = Inbox(self.observed)
        self._stages: StageChildren | None = None
        self._follows: asyncio.Task[None] | None = None

    async def __aenter__(self) -> Self:
        try:
            await self._start()
        except BaseException:
            await self.__aexit__()
            raise
        return self

    async def __aexit__(self, *_: object) -> None:
        """Stages first: what they report at their end is still read."""
        if self._stages is not None:
            await self._stages.stop()
        if self._follows is not None:
            await asyncio.sleep(1.0)
            await cancel([self._follows])
            await self._bus.stop()
        await self._simulator.stop()
        await self._inbox.stop()

    async def _start(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._folder / "cluster.yaml").write_text(yaml.safe_dump(dict(self._cluster), sort_keys=False))
        await self._inbox.start()
        await self._simulator.start()
        await self._wait_for_settings()
        self._write_settings()
        self._stages = StageChildren(self.settings_file)
        await self._stages.start()
        self._bus = open_bus(self._stages.settings.bus)
        await self._bus.start()
        self._follows = asyncio.create_task(self.observed.follow(self._bus))

    async def control(self, document: str) -> dict[str, Any]:
        """A document of the control port: clock, truth, state."""
        async with aiohttp.ClientSession() as http, http.get(f"{self._control}/{document}") as answer:
            found: dict[str, Any] = await answer.json()
            return found

    async def until(self, elapsed_s: float) -> None:
        """Until so much simulated time has passed since the start."""
        while (left_s := elapsed_s - await self.elapsed_s()) > 0:  # noqa: ASYNC110  # another process's clock
            await asyncio.sleep(min(left_s / self._speed, 5.0))

    async def elapsed_s(self) -> float:
        clock = await self.control("clock")
        return float(clock["now_ns"] - clock["start_ns"]) / NS_PER_S

    def event_ns(self, wall_ns: int) -> int:
        """Simulated time at a moment of the wall clock."""
        return event_clock(load_settings(self.settings_file).general.simulated_time, lambda: wall_ns)()

    async def _wait_for_settings(self) -> None:
        deadline_s = time.monotonic() + _START_S
        while not self.settings_file.exists():  # another process writes it
            if time.monotonic() > deadline_s:
                raise Unavailable(f"the simulator did not start: see {self._simulator.log_path}")
            await asyncio.sleep(_LOOK_S)

    def _write_settings(self) -> None:
        """Those of the simulator, with a receiver, and with ports that nobody else on this machine has."""
        settings = yaml.load(self.settings_file.read_text(), yaml.CSafeLoader)
        settings["global"]["metrics_ports"] = dict.fromkeys(MetricsPorts.model_fields, 0)
        receiver = {"name": "people", "type": "webhook", "url": self._inbox.url}
        settings["alerting"] = {"receivers": [receiver], **_waits_s(self._speed)}
        settings["api"] = {"port": _free_port()}
        self.settings_file.write_text(yaml.dump(settings, Dumper=yaml.CSafeDumper, sort_keys=False))


def _waits_s(speed: float) -> dict[str, float]:
    """Waits of the alerts stage, whose clock is real: as many simulated seconds as its defaults."""
    defaults = AlertingConfig()
    return {name: getattr(defaults, name) / speed for name in _ALERTING_WAITS}


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
