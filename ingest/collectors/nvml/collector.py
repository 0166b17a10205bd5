"""The collector of the GPUs of this host."""

import asyncio
import contextlib
import socket
from collections.abc import Iterable
from typing import Any

import pynvml
import structlog

from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import NoAnswer
from ingest.collectors.nvml.activity import Activity
from ingest.collectors.nvml.config import Config
from ingest.collectors.nvml.driver_thread import DriverThread
from ingest.collectors.nvml.errors import UNUSABLE, no_answer, text_of
from ingest.collectors.nvml.gpus import Reading, read_gpus
from ingest.collectors.nvml.xids import EventXids
from ingest.collectors.value_collector import ValueCollector
from ingest.ledger import DropReason

log = structlog.get_logger("ingest")
_STOP_S = 1.0


class NvmlCollector(ValueCollector):
    """Asks the driver in a thread, each interval.

    A GPU that cannot be used is left out, with a warning; with none that can, the target is down.
    """

    def __init__(self, config: Config, context: CollectorContext) -> None:
        device = config.device or socket.gethostname()
        super().__init__(f"{config.job_name}/{device}", device, config.interval_s, "nvml", context)
        self._timeout_s = config.timeout_s
        self._session = _Session(EventXids(context.clock) if config.xids else None)
        self._in_thread = DriverThread("nvml")
        self._unusable: dict[int, str] = {}

    async def _values(self) -> Values:
        async with asyncio.timeout(self._timeout_s):
            reading = await self._in_thread(self._session.read)
        self._log_unusable(reading.unusable)
        if reading.dropped:
            self._ledger.received(reading.dropped, self.name)
            self._ledger.dropped(DropReason.QUOTA, reading.dropped, self.name)
        if reading.unusable and not reading.samples:
            index, error = next(iter(reading.unusable.items()))
            raise no_answer(f"GPU {index}", error)
        return Values.of(reading.samples)

    async def stop(self) -> None:
        """Lets go of the driver, unless it does not answer."""
        with contextlib.suppress(TimeoutError, NoAnswer):
            async with asyncio.timeout(_STOP_S):
                await self._in_thread(self._session.close)

    def _log_unusable(self, errors: dict[int, Any]) -> None:
        """Changes, not every collection."""
        found = {index: text_of(error) for index, error in errors.items()}
        for index, text in found.items():
            if self._unusable.get(index) != text:
                log.warning("GPU is left out", target=self.name, device=self._device, gpu_index=index, error=text)
        self._unusable = found


class _Session:
    """NVML, initialised once: with no client left a driver that is not persistent forgets its counters."""

    def __init__(self, xids: EventXids | None) -> None:
        self._open = False
        self._activity, self._xids = Activity(), xids

    def read(self) -> Reading:
        """NoAnswer when there is no driver. After an error the next one begins again: what a session knows of a GPU
        that was reset is out of date, and it would keep another one from being reset."""
        try:
            if not self._open:
                pynvml.nvmlInit()
                self._open = True
            found = self._read()
        except pynvml.NVMLError as error:
            self.close()
            raise no_answer("NVML", error) from error
        if any(error.value in UNUSABLE for error in found.unusable.values()):  # not one that others alone may read
            self._shut_down()
        return found

    def _read(self) -> Reading:
        if self._xids is None:
            return read_gpus(self._activity)
        dropped = self._xids.take()  # first: a GPU that is lost ends the session, and has said why
        found = read_gpus(self._activity)
        found.dropped = dropped
        for uuid, handle in found.handles.items():
            self._xids.watch(handle, uuid)
        if found.samples:
            found.samples += self._xids.reading()
        return found

    def close(self) -> None:
        """Idempotent."""
        if self._open:
            with contextlib.suppress(pynvml.NVMLError):
                self._activity.keep(frozenset())
            self._shut_down()

    def _shut_down(self) -> None:
        """What was counted stays: it is of GPUs that work."""
        self._open = False
        if self._xids is not None:
            self._xids.end()
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()


def nvml_collectors(configs: Iterable[Config], context: CollectorContext) -> list[NvmlCollector]:
    """One an entry."""
    return [NvmlCollector(config, context) for config in configs]
