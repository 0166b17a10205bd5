"""What the product published while it ran: versions of incidents, findings, ledgers, and what people were sent."""

import asyncio
import contextlib
import time
from dataclasses import dataclass, field

import orjson
from aiohttp import web

from bus.base import Bus, Gap, Record
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.findings import Finding
from telemetry.incidents import Incident
from telemetry.ledger import StageReport


@dataclass(frozen=True, slots=True)
class Notified:
    """One notification that arrived at ``wall_ns`` of the wall clock. firing: False when its incident is over."""

    wall_ns: int
    incident: str
    firing: bool


@dataclass(slots=True)
class Observed:
    """versions: of all incidents, each with the wall clock at which the bus had it. findings: first version of each.

    reports: the newest of each stage. notified: in the order of arrival.
    """

    versions: list[tuple[int, Incident]] = field(default_factory=list)
    findings: dict[str, Finding] = field(default_factory=dict)
    reports: dict[str, StageReport] = field(default_factory=dict)
    notified: list[Notified] = field(default_factory=list)

    async def follow(self, bus: Bus) -> None:
        """Reads the bus until it is cancelled."""
        reader = bus.consume([topics.INCIDENTS, topics.FINDINGS, topics.LEDGER], {})
        try:
            while True:
                with contextlib.suppress(Gap):
                    for record in await reader.poll():
                        self._take(record)
                await asyncio.sleep(0)
        finally:
            await reader.stop()

    def _take(self, record: Record) -> None:
        if record.value is None:
            return
        if record.topic == topics.INCIDENTS.name:
            self.versions.append((record.appended_ns, decode_record(record.value, Incident)))
        elif record.topic == topics.FINDINGS.name:
            finding = decode_record(record.value, Finding)
            self.findings.setdefault(finding.id, finding)
        else:
            report = decode_record(record.value, StageReport)
            self.reports[report.stage] = report


class Inbox:
    """A webhook on a free port of the loopback, from ``start`` to ``stop``: what arrives is in ``observed``."""

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._keys: set[str] = set()
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post("/", self._accept)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.url = "http://{}:{}/".format(*self._runner.addresses[0])

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _accept(self, request: web.Request) -> web.Response:
        """A repetition has the key of the first; receivers drop it."""
        key, body = request.headers.get("X-Fabricscope-Key", ""), orjson.loads(await request.read())
        if key not in self._keys:
            self._keys.add(key)
            firing = body["status"] == "firing"
            self._observed.notified.append(Notified(time.time_ns(), body["groupLabels"]["incident_id"], firing))
        return web.Response()
