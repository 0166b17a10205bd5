"""The collector of the ranks of one NCCL job."""

import asyncio
from collections.abc import Iterable

from common.errors import BadInput
from ingest.collectors.base import CollectorContext
from ingest.collectors.canonical_samples import Values
from ingest.collectors.command import NoAnswer
from ingest.collectors.nccl_ras.client import Reply, first_reply
from ingest.collectors.nccl_ras.config import Config, Target
from ingest.collectors.nccl_ras.json_reply import parse_json
from ingest.collectors.nccl_ras.peer_events import PeerEvents
from ingest.collectors.nccl_ras.text_reply import parse_text
from ingest.collectors.value_collector import ValueCollector


class NcclRasCollector(ValueCollector):
    """Asks one process of the job each interval: it answers for all of them.

    events: what happened meanwhile, by what RAS streams to somebody else; empty where nobody listens.
    """

    def __init__(self, config: Config, target: Target, context: CollectorContext) -> None:
        name = f"{config.job_name}/{target.addresses[0]}"
        super().__init__(name, target.device, config.interval_s, "nccl_ras", context)
        self._config, self._target, self._context = config, target, context
        self.events = PeerEvents(config.limits.events_max, target.job_id, config.hosts)

    async def _values(self) -> Values:
        try:
            values = await self._status()
        except (NoAnswer, TimeoutError, BadInput):
            if not self.events.has_unread:
                raise
            values = Values()  # a job that ends may be silent from now on: what it said before that counts
        for sample in self.events.reading(self._context.clock()):
            values.add(sample.name, sample.value, **sample.labels)
        return values

    async def _status(self) -> Values:
        config = self._config
        reply = await first_reply(self._target.addresses, config.timeout_s, config.limits.body_bytes_max)
        with self._context.pages.holding(len(reply.body)):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._context.workers, self._parsed, reply)

    def _parsed(self, reply: Reply) -> Values:
        parse = parse_json if reply.is_json else parse_text
        report = parse(reply.body, self._config.limits)
        return Values.of(report.samples(self._target.job_id, self._config.hosts))


def nccl_ras_collectors(configs: Iterable[Config], context: CollectorContext) -> list[NcclRasCollector]:
    """One a job that is only asked."""
    return [
        NcclRasCollector(config, target, context)
        for config in configs
        for target in config.targets
        if not target.monitor
    ]
