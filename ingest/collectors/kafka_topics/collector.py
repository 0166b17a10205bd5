"""Topics in, batches of samples out: a message is committed when its samples are in the queue before the bus."""

import asyncio
from collections.abc import Collection, Sequence
from typing import NoReturn, Protocol

import structlog

from bus.kafka import scan_batches
from bus.kafka.client import CONNECT_FIRST_S, CONNECT_MOST_S, connection_settings
from common.errors import ConfigError
from common.retry import retry
from common.threads import OneThread
from ingest.collectors.base import CollectorContext, Emit
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.kafka_topics import metrics
from ingest.collectors.kafka_topics.config import Config
from ingest.collectors.kafka_topics.gnmic import GnmicDevices
from ingest.collectors.kafka_topics.group_consumer import LOST, GroupConsumer
from ingest.collectors.kafka_topics.telegraf import TelegrafSeries

_FULL_WAIT_S = 0.1

log = structlog.get_logger("ingest")


class Content(Protocol):
    """What the topics hold. Its methods are not called while another one is awaited."""

    @property
    def unmapped(self) -> Collection[str]: ...
    def warm_up(self) -> None:
        """Compiles what decodes, or loads it: not for the event loop."""
        ...

    async def take(self, messages: Sequence[bytes], reading: OneThread, emit: Emit) -> None:
        """Counts the messages and emits their samples."""
        ...

    def watch(self, emit: Emit) -> None:
        """Says which devices are silent."""
        ...


class KafkaTopics:
    """Some topics of one format. links: shared by all of the process."""

    def __init__(self, config: Config, context: CollectorContext, links: LinkTable) -> None:
        self._config, self._context = config, context
        self._content: Content = (
            TelegrafSeries(config, context) if config.format.is_of_telegraf else GnmicDevices(config, context, links)
        )
        self._taking = asyncio.Lock()
        self._problem = ""

    @property
    def name(self) -> str:
        return f"{self._config.job_name}/{','.join(self._config.topics)}"

    @property
    def unmapped(self) -> Collection[str]:
        """Names that devices sent and that nothing maps."""
        return self._content.unmapped

    async def run(self, emit: Emit) -> None:
        """Reads until cancelled. ConfigError when a file of the settings cannot be read."""
        connection_settings(self._config.kafka)  # later on a file may be missing while it is replaced
        if self._config.kafka.exposed:
            log.warning("the connection to Kafka is not encrypted", target=self.name)
        reading = OneThread("kafka-topics")
        try:
            await reading(self._warm_up)
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._watch(emit))
                tasks.create_task(
                    retry(
                        lambda: self._read(reading, emit),
                        on=(*LOST, ConfigError),
                        first_s=CONNECT_FIRST_S,
                        most_s=CONNECT_MOST_S,
                        failed=self._lost,
                    )
                )
        finally:
            reading.stop()

    def _warm_up(self) -> None:
        scan_batches.warm_up()
        self._content.warm_up()

    async def _read(self, reading: OneThread, emit: Emit) -> NoReturn:
        """Polls for one membership of the group."""
        consumer = GroupConsumer(self._config, self._context.clock)
        try:
            await consumer.start()
            log.info("reads topics", target=self.name, group=self._config.group)
            while True:
                await self._until_there_is_room()
                answers = await consumer.poll()
                self._problem = ""
                parts = consumer.messages(answers)
                while (messages := await reading(next, parts, None)) is not None:
                    if messages:
                        await self._until_there_is_room()
                        async with self._taking:
                            await self._content.take(messages, reading, emit)
                await consumer.commit()
                if answers and not consumer.is_behind:
                    await asyncio.sleep(self._config.gather_s)
        finally:
            await consumer.stop()

    async def _until_there_is_room(self) -> None:
        while self._context.is_full():  # noqa: ASYNC110  # what has room sets no event
            await asyncio.sleep(_FULL_WAIT_S)

    async def _watch(self, emit: Emit) -> NoReturn:
        while True:
            await asyncio.sleep(self._config.silence_s / 10)
            async with self._taking:
                self._content.watch(emit)

    def _lost(self, error: Exception) -> None:
        """Logged when it is another problem than before."""
        metrics.RECONNECTS.labels(self._config.job_name).inc()
        problem = f"{type(error).__name__}: {error}"
        if problem != self._problem:
            self._problem = problem
            log.warning("topics cannot be read", target=self.name, error=problem)
