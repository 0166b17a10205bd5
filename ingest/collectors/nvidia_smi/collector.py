"""The collector of the GPUs of one host."""

import asyncio
import time
from collections.abc import Collection, Iterable
from pathlib import Path

import structlog

from common.errors import BadInput
from common.units import NS_PER_S
from ingest.admission.line import Priority
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.canonical_samples import CanonicalSamples, TargetSamples
from ingest.collectors.command import Command, NoAnswer, read_file
from ingest.collectors.nvidia_smi.config import Config, Target
from ingest.collectors.nvidia_smi.parse import parse_gpus
from telemetry.samples import DownReason

_SYSTEM = "nvidia_smi"

log = structlog.get_logger("ingest")


class NvidiaSmiCollector:
    """Runs a command, or reads a file, each interval."""

    def __init__(self, config: Config, target: Target, context: CollectorContext) -> None:
        self._config, self._target, self._context = config, target, context
        self._command = Command(target.command, config.body_bytes_max)
        self._samples = TargetSamples(self.name, target.device, _SYSTEM, context.clock())
        self._down: DownReason | None = None

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{self._target.device}"

    @property
    def interval_s(self) -> float:
        return self._config.interval_s

    @property
    def priority(self) -> Priority:
        return Priority.NORMAL

    @property
    def unmapped(self) -> Collection[str]:
        """Names that the driver sent and that nothing maps."""
        return self._samples.unmapped

    async def collect(self, now_ns: int) -> CollectorOutput:
        """One batch, or one with the reason why there is none."""
        began_s = time.monotonic()
        try:
            async with asyncio.timeout(self._config.timeout_s):
                body = await self._body(now_ns)
            with self._context.pages.holding(len(body)):
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self._context.workers, self._read, body)
        except TimeoutError:
            return self._failed(DownReason.TIMEOUT, "no answer in time", now_ns, began_s)
        except NoAnswer as error:
            return self._failed(error.reason, str(error), now_ns, began_s)
        except BadInput as error:
            return self._failed(DownReason.BAD_FORMAT, str(error), now_ns, began_s)
        batch = self._samples.batch(found, now_ns, time.monotonic() - began_s, self._context.ledger)
        self._report(batch.collection.down, "no GPU")
        return batch

    async def stop(self) -> None:
        """Nothing is open between collections."""

    async def _body(self, now_ns: int) -> bytes:
        if self._target.file is None:
            return await self._command.read()
        return await _recent(self._target.file, self._config, now_ns)

    def _read(self, body: bytes) -> CanonicalSamples:
        return self._samples.read(parse_gpus(body))

    def _failed(self, reason: DownReason, message: str, now_ns: int, began_s: float) -> CollectorOutput:
        self._report(reason, message)
        return self._samples.down(reason, now_ns, time.monotonic() - began_s)

    def _report(self, down: DownReason | None, message: str) -> None:
        """Logged when it changes."""
        if down is not None and down != self._down:
            about = {"target": self.name, "device": self._target.device}
            log.warning("target is down", reason=down, error=message[:200], **about)
        self._down = down


async def _recent(file: Path, config: Config, now_ns: int) -> bytes:
    """What the file holds. NoAnswer where it is old: values that nobody reads any more would look like those of now."""
    try:
        age_s = now_ns / NS_PER_S - (await asyncio.to_thread(file.stat)).st_mtime
    except OSError as error:
        raise NoAnswer(DownReason.REFUSED, f"{file}: {error.strerror}") from error
    if age_s > config.age_max_s:
        raise NoAnswer(DownReason.SILENT, f"{file}: written {age_s:.0f} s ago")
    return await read_file(file, config.body_bytes_max)


def nvidia_smi_collectors(configs: Iterable[Config], context: CollectorContext) -> list[NvidiaSmiCollector]:
    """One a host."""
    return [NvidiaSmiCollector(config, target, context) for config in configs for target in config.targets]
