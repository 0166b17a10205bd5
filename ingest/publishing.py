"""Publishing until the bus has it, however long it is unavailable."""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from typing import Protocol

import structlog

from bus.base import Message
from common.errors import BadInput, Unavailable
from common.retry import retry
from ingest.metrics import PUBLISH_RETRIES, PUBLISH_SECONDS
from ingest.outgoing import Outgoing
from telemetry.topics import Topic

log = structlog.get_logger("ingest")
_RETRY_FIRST_S, _RETRY_MAX_S = 0.1, 5.0  # the longest wait is part of how soon a bus that is back is used


class PublishingBus(Protocol):
    """The half of a bus that this stage needs."""

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None: ...


async def publish_records(bus: PublishingBus, records: Sequence[Outgoing]) -> None:
    """Returns when all are durable. One call for each run of records of one topic, in order."""
    for topic, run in groupby(records, lambda record: record.topic):
        await _publish(bus, topic, [record.message for record in run])


async def _publish(bus: PublishingBus, topic: Topic, messages: Sequence[Message]) -> None:
    async def publish() -> None:
        started_s = asyncio.get_running_loop().time()
        await bus.publish(topic, messages)
        PUBLISH_SECONDS.observe(asyncio.get_running_loop().time() - started_s)

    def failed(error: Exception) -> None:
        PUBLISH_RETRIES.inc()
        log.warning("publishing failed and is repeated", topic=topic.name, messages=len(messages), error=str(error))

    try:
        await retry(publish, on=Unavailable, first_s=_RETRY_FIRST_S, most_s=_RETRY_MAX_S, failed=failed)
    except BadInput as error:
        raise AssertionError(f"the bus refuses what is within its limits: {error}") from error
