"""Where the records of a moment begin."""

import asyncio
from collections import deque
from functools import partial

from aiokafka import AIOKafkaConsumer, TopicPartition

from bus.base import Offsets
from bus.config import KafkaConfig
from bus.kafka.client import (
    CONNECT_FIRST_S,
    CONNECT_MOST_S,
    connection_settings,
    discard_consumer,
    start_client,
    within,
)
from bus.kafka.topics import ensure_topics
from common.errors import ConfigError, Unauthorized, Unavailable
from common.retry import retry
from common.units import NS_PER_MS
from telemetry.topics import Topic


async def offsets_since(config: KafkaConfig, topics: list[Topic], since_ns: int) -> Offsets:
    """See ``Bus.offsets_since``. Kafka's clock has milliseconds."""
    failures: deque[Exception] = deque(maxlen=1)
    try:
        async with asyncio.timeout(config.publish_deadline_s):
            return await retry(
                partial(_ask, config, topics, -(-since_ns // NS_PER_MS)),
                on=Exception,  # whatever a client raises, the bus goes on trying
                unless=ConfigError,
                first_s=CONNECT_FIRST_S,
                most_s=CONNECT_MOST_S,
                failed=failures.append,
            )
    except TimeoutError:
        error = failures[0] if failures else None
    kind = Unauthorized if isinstance(error, Unauthorized) else Unavailable
    reason = "no attempt was made" if error is None else repr(error)
    raise kind(f"no offsets after {config.publish_deadline_s:g} s: {reason}")


async def _ask(config: KafkaConfig, topics: list[Topic], since_ms: int) -> Offsets:
    await ensure_topics(config, topics)
    client = AIOKafkaConsumer(**connection_settings(config), group_id=None, enable_auto_commit=False)
    try:
        await start_client(config, client.start())
        partitions = [TopicPartition(topic.name, n) for topic in topics for n in range(topic.partitions)]
        client.assign(partitions)
        # The ends first: what comes in between is then behind them, not skipped.
        ends = await within(config.attempt_deadline_s, client.end_offsets(partitions))
        times = dict.fromkeys(partitions, since_ms)
        found = await within(config.attempt_deadline_s, client.offsets_for_times(times))
    finally:
        await asyncio.shield(discard_consumer(client))
    return {(p.topic, p.partition): found[p].offset if found[p] else ends[p] for p in partitions}
