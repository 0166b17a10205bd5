"""The collector of the GPUs of one host."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

from common.units import NS_PER_S
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import Command, NoAnswer, read_file
from ingest.collectors.nvidia_smi.config import Config, Target
from ingest.collectors.nvidia_smi.parse import parse_gpus
from ingest.collectors.value_collector import ValueCollector
from telemetry.samples import DownReason


class NvidiaSmiCollector(ValueCollector):
    """Runs a command, or reads a file, each interval."""

    def __init__(self, config: Config, target: Target, context: CollectorContext) -> None:
        name = f"{config.job_name}/{target.device}"
        super().__init__(name, target.device, config.interval_s, "nvidia_smi", context)
        self._config, self._target, self._context = config, target, context
        self._command = Command(target.command, config.body_bytes_max)

    async def _values(self) -> Values:
        now_ns = self._context.clock()
        async with asyncio.timeout(self._config.timeout_s):
            body = await self._body(now_ns)
        with self._context.pages.holding(len(body)):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._context.workers, _parsed, body)

    async def _body(self, now_ns: int) -> bytes:
        if self._target.file is None:
            return await self._command.read()
        return await _recent(self._target.file, self._config, now_ns)


def _parsed(body: bytes) -> Values:
    return Values.of(parse_gpus(body))


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
