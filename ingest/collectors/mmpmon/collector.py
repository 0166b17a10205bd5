"""The collector of one host's Storage Scale."""

import asyncio
from collections.abc import Iterable

import structlog

from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import Output
from ingest.collectors.mmpmon.config import Config
from ingest.collectors.mmpmon.parse import parse_answers, values_of
from ingest.collectors.value_collector import ValueCollector

log = structlog.get_logger("ingest")


class MmpmonCollector(ValueCollector):
    """What a node has read and written in each file system since it was mounted."""

    def __init__(self, config: Config, context: CollectorContext) -> None:
        super().__init__(f"{config.name}/{config.device}", config.device, config.interval_s, "mmpmon", context)
        self._config, self._output = config, Output(config)
        self._malformed = 0

    async def _values(self) -> Values:
        answers, malformed = await asyncio.to_thread(parse_answers, await self._output.read())
        if malformed != self._malformed:
            log.warning("mmpmon's output has malformed lines", target=self.name, lines=malformed)
            self._malformed = malformed
        return values_of(answers, self._config.device, self._config.hosts)


def mmpmon_collectors(configs: Iterable[Config], context: CollectorContext) -> list[MmpmonCollector]:
    """One a host."""
    return [MmpmonCollector(config, context) for config in configs]
