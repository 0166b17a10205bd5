"""The collectors of one InfiniBand fabric: its links as facts, and the counters of its ports as samples."""

import asyncio
from collections.abc import Sequence

import structlog

from common.units import NS_PER_S
from ingest.collectors.base import ClusterEvent, CollectorContext, PollCollector
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import Output
from ingest.collectors.infiniband.config import Config, CountersConfig
from ingest.collectors.infiniband.perfquery import Reading, parse_counters
from ingest.collectors.infiniband.topology import (
    Fabric,
    Names,
    SeenLink,
    link_facts,
    links_of,
    names_of,
    parse_topology,
)
from ingest.collectors.list_collector import ListCollector
from ingest.collectors.value_collector import ValueCollector

log = structlog.get_logger("ingest")
HOLD_NS = 600 * NS_PER_S  # as for neighbours by LLDP


class FabricLinks(ListCollector):
    """Links that came, changed or went since the last collection; all of them at the start.

    names: of the fabric as it was read last; None before.
    """

    what = "link"

    def __init__(self, config: Config) -> None:
        self._output = Output(config.topology)
        super().__init__(config.name, config.topology.interval_s, self._text)
        self._reading = asyncio.Lock()
        self._config = config
        self._links: dict[str, SeenLink] = {}
        self._malformed = 0
        self.names: Names | None = None

    async def read_names(self) -> Names:
        """Those of the fabric as it was read last; of the fabric now where it was not yet."""
        if self.names is None:
            body = await self._text()
            if self.names is None:  # nobody else has read them meanwhile
                await self._fabric(body)
        assert self.names is not None
        return self.names

    async def _text(self) -> bytes:
        """For one at a time: those who ask for names at the start must not run it all at once."""
        async with self._reading:
            return await self._output.read()

    async def _fabric(self, body: bytes) -> Fabric:
        fabric = await asyncio.to_thread(parse_topology, body)
        self.names = names_of(fabric, self._config.switches_by, self._config.adapters)
        return fabric

    async def _events(self, body: bytes, now_ns: int) -> Sequence[ClusterEvent]:
        fabric = await self._fabric(body)
        if fabric.malformed != self._malformed:
            self._report_malformed(fabric.malformed)
            self._malformed = fabric.malformed
        found = links_of(fabric, await self.read_names())
        self._links, facts = link_facts(self._links, found, now_ns, HOLD_NS, f"ibnetdiscover/{self.name}")
        return facts


class FabricCounters(ValueCollector):
    """Counters of all ports, under the names that the links have."""

    def __init__(self, name: str, config: CountersConfig, links: FabricLinks, context: CollectorContext) -> None:
        super().__init__(f"{name}/counters", name, config.interval_s, "perfquery", context)
        self._output, self._links = Output(config), links
        self._malformed = 0

    async def _values(self) -> Values:
        names = await self._links.read_names()
        readings, malformed = await asyncio.to_thread(parse_counters, await self._output.read())
        if malformed != self._malformed:
            log.warning("counters have malformed lines", target=self.name, lines=malformed)
            self._malformed = malformed
        return values_of(readings, names)


def values_of(readings: Sequence[Reading], names: Names) -> Values:
    """A counter of a port that nobody knows has a name that nothing maps: it is listed and counted."""
    values = Values()
    for lid, number, name, value in readings:
        found = names.port(lid, number)
        if found is None:
            values.add(f"unknown_lid/{name}", value)
        else:
            values.add(name, value, node=found[0], port=found[1])
    return values


def infiniband_collectors(configs: Sequence[Config], context: CollectorContext) -> list[PollCollector]:
    collectors: list[PollCollector] = []
    for config in configs:
        links = FabricLinks(config)
        context.guid_names.add(config.name, links.read_names)
        collectors.append(links)
        if config.counters is not None:
            collectors.append(FabricCounters(config.name, config.counters, links, context))
    return collectors
