"""Everything that runs in a soak, each a process but the receivers: targets, a Kafka, the stages, a Prometheus."""

import asyncio
import socket
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from tests.acceptance.lab import STAGES, Program
from tests.acceptance.soak import addresses
from tests.acceptance.soak.addresses import hostile_addresses
from tests.acceptance.soak.kinds import KINDS, Protocol
from tests.acceptance.soak.pagers import Receivers
from tests.acceptance.soak.plan import Plan
from tests.acceptance.soak.settings import Places, write_settings
from tests.acceptance.soak.watch import Watch
from tests.servers.certificates import make_certificates
from tests.servers.kafka import KafkaServer
from tests.servers.process import free_port
from tests.servers.prometheus import Prometheus

_WAIT_S_MAX = 240.0  # for what depends on the machine alone
_TARGETS = "tests.acceptance.soak"


class Product:
    """``start`` gives the good targets alone; ``add_hostile`` starts the others and ingest again with all of them.

    everything: also export to a Prometheus, and a recorder.
    """

    def __init__(self, plan: Plan, folder: Path, *, everything: bool = True) -> None:
        self._plan, self._folder = plan, folder
        self._lost = folder / "lost"
        self._lost.mkdir(parents=True)
        self._kafka = KafkaServer(folder / "kafka")
        self._prometheus = Prometheus(folder / "prometheus") if everything else None
        self.receivers = Receivers()
        trusted, untrusted = folder / "trusted", folder / "untrusted"
        trusted.mkdir()
        untrusted.mkdir()
        self._places = Places(
            folder=folder,
            good_port=free_port(),
            hostile_port=free_port(),
            api_port=free_port(),
            bootstrap=self._kafka.address,
            write_url=self._prometheus.write_url if self._prometheus else None,
            receivers=self.receivers.urls,
            trusted=make_certificates(trusted),
            untrusted=make_certificates(untrusted),
        )
        write_settings(plan, self._places, hostile=False)
        arguments = [str(plan.good), f"{plan.interval_s:g}"]
        self._targets = [
            Program("good", [str(self._places.good_port), *arguments, str(self._lost)], folder, f"{_TARGETS}.good")
        ]
        names = (*STAGES, "export", "recorder") if everything else STAGES
        settings = ["--config", str(self._places.settings_file)]
        self.stages = {name: Program(name, [name, *settings], folder) for name in names}
        self.stops_s: dict[str, float | None] = {}
        """How long each stage took to end in order when all were asked at once; None when it did not."""
        self.watch = Watch(self._places.settings_file)
        self._watching: asyncio.Task[None] | None = None

    @property
    def good_targets(self) -> int:
        """Those that are followed: hosts, switches and chassis."""
        return self._plan.good + addresses.CHASSIS_COUNT

    async def start(self) -> None:
        """Returns when each good target has been collected."""
        servers = [one for one in (self._kafka, self._prometheus) if one is not None]
        await asyncio.gather(*(asyncio.to_thread(server.start) for server in servers))
        self.receivers.start()
        for program in (*self._targets, *self.stages.values()):
            program.start()
        self._watching = asyncio.create_task(self.watch.run())
        await self.until(lambda: len(self.watch.newest_ns) == self.good_targets, "all good targets")
        await self.until(lambda: "analytics" in self.watch.reports, "analytics")

    async def add_hostile(self) -> None:
        """Returns when each good target has been collected again."""
        arguments = [str(self._places.hostile_port), str(self._plan.hostile), f"{self._plan.interval_s:g}"]
        arguments.append(str(self._places.trusted.folder))
        for name, *served in (("pages", Protocol.HTTP, Protocol.HTTPS), ("streams", Protocol.GNMI)):
            hostile = Program(f"hostile-{name}", [*arguments, *served], self._folder, f"{_TARGETS}.hostile")
            hostile.start()
            self._targets.append(hostile)
        last = [
            [kind for kind in KINDS if (kind.protocol is Protocol.GNMI) is streams][-1] for streams in (False, True)
        ]
        for kind in last:
            address = hostile_addresses(kind.name, 1)[0]
            await self.until(partial(_answers, address, self._places.hostile_port), kind.name)
        await asyncio.to_thread(self.stages["ingest"].stop)
        write_settings(self._plan, self._places, hostile=True)
        self.stages["ingest"].start()
        await self.until_fresh()

    async def restart_broker(self) -> float:
        """kill -9 of the broker, and its start. Returns when all good targets are fresh, after how many seconds of it
        being back."""
        await asyncio.to_thread(self._kafka.restart)
        began_s = time.monotonic()
        await self.until_fresh()
        return time.monotonic() - began_s

    def break_chassis(self, number: int) -> None:
        """Its GPUs are gone, which is critical."""
        (self._lost / str(number)).touch()

    def repair_chassis(self, number: int) -> None:
        (self._lost / str(number)).unlink()

    async def until_fresh(self) -> None:
        """Returns when a sample of each good target has arrived that is younger than this call."""
        now_ns = time.time_ns()
        await self.until(lambda: min(self.watch.newest_ns.values()) > now_ns, "all good targets to be fresh")

    async def until(self, done: Callable[[], bool], what: str) -> None:
        """Polls; RuntimeError when a process has ended, or when it takes too long."""
        deadline = time.monotonic() + _WAIT_S_MAX
        while not done():  # it waits for processes, which set no event
            self.check()
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {_WAIT_S_MAX:.0f} s for {what}; logs are in {self._folder}")
            await asyncio.sleep(0.05)

    def check(self) -> None:
        """RuntimeError when anything has ended by itself."""
        for program in (*self._targets, *self.stages.values()):
            if program.failed:
                raise RuntimeError(f"{program.name} has ended:\n{program.log_tail()}")
        if self._watching is not None and self._watching.done():
            self._watching.result()

    async def stop(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.wait([self._watching])
        stops = (asyncio.to_thread(stage.stop) for stage in self.stages.values())
        self.stops_s = dict(zip(self.stages, await asyncio.gather(*stops), strict=True))
        for program in self._targets:
            program.kill()
        self.receivers.stop()
        if self._prometheus is not None:
            self._prometheus.kill()
        self._kafka.stop()


def _answers(address: str, port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as probe:
        return probe.connect_ex((address, port)) == 0
