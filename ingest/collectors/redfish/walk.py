"""Which resources of a controller are read: both shapes of power and heat, each chassis in the one that it has.

Old: ``Thermal`` and ``Power``. New, since DSP0268 2020.4: ``ThermalSubsystem``, ``PowerSubsystem``,
``EnvironmentMetrics`` and ``Sensors``. A chassis that has both is read in the new one, unless that has no reading.
"""

import asyncio
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Protocol

from common.errors import BadInput
from ingest.collectors.canonical_samples import SourceSample
from ingest.collectors.redfish.controller import NotRead, Scope
from ingest.collectors.redfish.parse import (
    ROOT,
    Document,
    can_expand,
    link,
    members,
    next_page,
    samples_of,
    sensor_paths,
)
from telemetry.samples import DownReason

PAGES_MAX = 100
_EXPAND = "?$expand=.($levels=1)"
_ABSENT: Document = {}


class Reader(Protocol):
    """layout: a resource that says what there is, which may be some minutes old. reading: as it is now.

    failed: is shown each one that cannot be read while others can.
    """

    async def layout(self, path: str) -> Document: ...
    async def reading(self, path: str) -> Document: ...
    def failed(self, error: NotRead) -> None: ...


async def read_all(reader: Reader) -> list[SourceSample]:
    """All samples of a controller. NotRead where the root or the list of chassis cannot be read."""
    root = await reader.layout(f"{ROOT}/")
    listed = link(root, "Chassis") or f"{ROOT}/Chassis"
    await reader.layout(listed)  # without it nothing can be read
    chassis = [path for path, _ in await members_at(reader, listed)]
    found: list[SourceSample] = []
    is_main = True
    for path in chassis:
        walk = _Chassis(reader, await present(reader, reader.layout(path)), can_expand(root), is_main=is_main)
        found += await walk.samples()
        is_main = is_main and not walk.has_host
    return found + await _host(reader, root)


async def _host(reader: Reader, root: Document) -> list[SourceSample]:
    """The first system: whether it is on, and its health."""
    path = link(root, "Systems")
    systems = await members_at(reader, path) if path else []
    if not systems:
        return []
    system = await present(reader, reader.reading(systems[0][0]))
    shown = ("Id", "PowerState", "Status", "Model", "SerialNumber", "BiosVersion")
    return samples_of("ComputerSystem", {key: system[key] for key in shown if key in system}, {})


class _Chassis:
    """has_host: whether it contains the host. is_main: whether its power may be that of the host."""

    def __init__(self, reader: Reader, document: Document, expands: bool, *, is_main: bool) -> None:
        self._reader, self._document, self._expands = reader, document, expands
        links = document.get("Links")
        systems = links.get("ComputerSystems") if isinstance(links, dict) else None
        self.has_host = bool(systems)
        role = "host" if is_main and self.has_host else "part"
        self._labels = {"chassis": str(document.get("Id", ""))[:256], "role": role}
        self._sensors: set[str] = set()

    async def samples(self) -> list[SourceSample]:
        found = self._of(
            "Chassis", {key: self._document[key] for key in ("Status", "PowerState") if key in self._document}
        )
        heat = await self._new_heat()
        found += heat or await self._old("Thermal")
        power = await self._new_power()
        found += power or await self._old("Power")
        found += await self._one("EnvironmentMetrics", link(self._document, "EnvironmentMetrics"))
        return found + await self._further_sensors()

    async def _new_heat(self) -> list[SourceSample]:
        subsystem = await self._layout(link(self._document, "ThermalSubsystem"))
        metrics = await self._one("ThermalMetrics", link(subsystem, "ThermalMetrics"))
        return metrics + await self._each("Fan", await self._paths(link(subsystem, "Fans")))

    async def _new_power(self) -> list[SourceSample]:
        subsystem = await self._layout(link(self._document, "PowerSubsystem"))
        supplies = await self._paths(link(subsystem, "PowerSupplies"))
        documents = await self._readings(supplies)
        found: list[SourceSample] = []
        for document in documents:
            found += self._of("PowerSupply", document)
        metrics = [link(document, "Metrics") for document in documents]
        ids = [str(document.get("Id", ""))[:256] for document in documents]
        for at, document in zip(ids, await self._readings(metrics), strict=True):
            found += self._of("PowerSupplyMetrics", document, {"supply": at})
        return found

    async def _old(self, kind: str) -> list[SourceSample]:
        return await self._one(kind, link(self._document, kind))

    async def _further_sensors(self) -> list[SourceSample]:
        """Those that no resource read so far repeats."""
        path = link(self._document, "Sensors")
        if not path:
            return []
        listed = await members_at(self._reader, path + _EXPAND * self._expands, fresh=self._expands)
        left = [(at, one) for at, one in listed if at not in self._sensors]
        documents = [one for _, one in left if one is not None]
        documents += await self._readings([at for at, one in left if one is None])
        return [sample for document in documents for sample in self._of("Sensor", document)]

    async def _one(self, kind: str, path: str) -> list[SourceSample]:
        return await self._each(kind, [path])

    async def _each(self, kind: str, paths: Sequence[str]) -> list[SourceSample]:
        return [sample for document in await self._readings(paths) for sample in self._of(kind, document)]

    def _of(self, kind: str, document: Document, labels: Mapping[str, str] | None = None) -> list[SourceSample]:
        self._sensors |= sensor_paths(document)
        try:
            return samples_of(kind, document, {**self._labels, **(labels or {})})
        except BadInput as error:
            self._reader.failed(NotRead(DownReason.BAD_FORMAT, str(error), Scope.RESOURCE))
            return []

    async def _readings(self, paths: Iterable[str]) -> list[Document]:
        """One for each path; an empty one for a resource that is not there."""
        reads = [present(self._reader, self._reader.reading(path)) if path else _none() for path in paths]
        found = await asyncio.gather(*reads, return_exceptions=True)  # none goes on by itself
        documents = [one for one in found if not isinstance(one, BaseException)]
        if len(documents) < len(found):
            raise next(one for one in found if isinstance(one, BaseException))
        return documents

    async def _layout(self, path: str) -> Document:
        return await present(self._reader, self._reader.layout(path)) if path else _ABSENT

    async def _paths(self, path: str) -> list[str]:
        return [at for at, _ in await members_at(self._reader, path)] if path else []


async def members_at(reader: Reader, path: str, *, fresh: bool = False) -> list[tuple[str, Document | None]]:
    """Of all pages of a collection; none of one that is not there."""
    found: list[tuple[str, Document | None]] = []
    seen: set[str] = set()
    while path and path not in seen and len(seen) < PAGES_MAX:
        seen.add(path)
        page = await present(reader, reader.reading(path) if fresh else reader.layout(path))
        found += members(page)
        path = next_page(page)
    return found


async def present(reader: Reader, reading: Awaitable[Document]) -> Document:
    """An empty one where the controller has no such resource, or where this one alone cannot be read."""
    try:
        return await reading
    except NotRead as error:
        if error.scope is Scope.CONTROLLER:
            raise
        if error.scope is Scope.RESOURCE:
            reader.failed(error)
        return _ABSENT


async def _none() -> Document:
    return _ABSENT
