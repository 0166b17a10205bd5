"""One host: its RDMA counters in sysfs, and the statistics of its interfaces' drivers."""

import asyncio
import socket
import time
from collections.abc import Sequence
from functools import partial

import structlog

from common.errors import BadInput
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import Command, NoAnswer, read_file
from ingest.collectors.host_counters.config import Config
from ingest.collectors.host_counters.parse import add_statistics
from ingest.collectors.host_counters.sysfs import interfaces_of, read_rdma
from ingest.collectors.value_collector import ValueCollector
from telemetry.samples import DownReason

log = structlog.get_logger("ingest")
_TEXT_BYTES_MAX = 4 << 20


class HostCountersCollector(ValueCollector):
    """Reads in a thread. One that hangs in the kernel is not joined by a second one: until it is back the target is
    down. An interface whose statistics cannot be had is left out, with a warning."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        device = config.device or socket.gethostname()
        super().__init__(config.name, device, config.interval_s, "rdma_host", context)
        self._config = config
        self._ethtool = Command(config.ethtool, _TEXT_BYTES_MAX)
        self._reading: asyncio.Future[Values] | None = None
        self._left_out: dict[str, str] = {}

    async def _values(self) -> Values:
        async with asyncio.timeout(self._config.timeout_s):
            values = await self._rdma()
            left_out: dict[str, str] = {}
            for interface in await self._interfaces():
                try:
                    await self._add_statistics(values, interface)
                except (NoAnswer, BadInput) as error:
                    left_out[interface] = str(error)
        for interface in left_out.keys() - self._left_out.keys():
            log.warning("interface is left out", target=self.name, interface=interface, error=left_out[interface][:200])
        self._left_out = left_out
        if len(values.names) > self._config.values_max:
            raise NoAnswer(DownReason.TOO_MANY_SERIES, f"more than {self._config.values_max} values")
        return values

    async def _interfaces(self) -> Sequence[str]:
        if self._config.statistics is None and not self._config.ethtool:
            return ()
        return self._config.interfaces or await asyncio.to_thread(interfaces_of, self._config.sysfs)

    async def _rdma(self) -> Values:
        config = self._config
        if self._reading is not None and not self._reading.done():
            raise NoAnswer(DownReason.TIMEOUT, f"{config.sysfs}: a read of an earlier collection has not returned")
        deadline_s = time.monotonic() + config.timeout_s
        read = partial(read_rdma, config.sysfs, config.values_max, deadline_s)
        self._reading = asyncio.ensure_future(asyncio.to_thread(read))
        self._reading.add_done_callback(_forget_error)
        return await asyncio.shield(self._reading)

    async def _add_statistics(self, values: Values, interface: str) -> None:
        config = self._config
        if config.statistics is not None:
            text = await read_file(config.statistics / f"{interface}.txt", _TEXT_BYTES_MAX)
        else:
            text = await self._ethtool.read(interface)
        add_statistics(values, interface, text)


def _forget_error(reading: asyncio.Future[Values]) -> None:
    """Of a read that comes back after its collection has ended: nobody waits for it."""
    if not reading.cancelled():
        reading.exception()
