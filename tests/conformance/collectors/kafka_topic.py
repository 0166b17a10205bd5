"""A topic that others fill, on a real broker, and who reads it."""

import asyncio
import ssl
import time
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from prometheus_client import REGISTRY

from ingest.collectors.base import CollectorContext
from ingest.collectors.gnmi.links import LinkTable
from ingest.collectors.kafka_topics.collector import KafkaTopics
from ingest.collectors.kafka_topics.config import Config
from ingest.ledger import Ledger
from tests.conformance.collectors.gnmi_peer import Emitted
from tests.ledgers import assert_accounted
from tests.servers.kafka import KafkaServer
from tests.waiting import DEADLINE_S

OCTETS = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
_METRIC = "fabricscope_ingest_kafka_topics_"


class Reading:
    """A reader that runs: what it emits, and its ledger."""

    def __init__(self, emitted: Emitted, ledger: Ledger) -> None:
        self.emitted, self.ledger = emitted, ledger

    @property
    def octets(self) -> list[float]:
        return self.emitted.values().get(OCTETS, [])

    async def until(self, condition: Callable[[], object]) -> None:
        await self.emitted.until(condition)


class Topic:
    """A new topic of a broker, and who reads it."""

    def __init__(self, broker: KafkaServer, partitions: int) -> None:
        self.broker, self.partitions, self.name = broker, partitions, f"gnmic-{uuid4().hex[:8]}"

    def connection(self) -> dict[str, Any]:
        """Of aiokafka's clients."""
        if not self.broker.users:
            return {"bootstrap_servers": self.broker.address}
        name, password = next(iter(self.broker.users.items()))
        return {
            "bootstrap_servers": self.broker.address,
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": name,
            "sasl_plain_password": password,
            "ssl_context": ssl.create_default_context(cafile=self.broker.ca_file),
        }

    async def make(self) -> None:
        admin = AIOKafkaAdminClient(**self.connection())
        await admin.start()
        await admin.create_topics([NewTopic(self.name, self.partitions, 1)])
        await admin.close()

    async def put(self, *messages: bytes, partition: int = 0) -> None:
        producer = AIOKafkaProducer(**self.connection(), acks="all")
        await producer.start()
        for message in messages:
            await producer.send_and_wait(self.name, message, partition=partition)
        await producer.stop()

    async def until_committed(self, offset: int) -> None:
        """Of the first partition."""
        consumer = AIOKafkaConsumer(bootstrap_servers=self.broker.address, group_id=self.name)
        await consumer.start()
        async with asyncio.timeout(DEADLINE_S):
            while await consumer.committed(TopicPartition(self.name, 0)) != offset:  # noqa: ASYNC110  # the broker's
                await asyncio.sleep(0.02)
        await consumer.stop()

    @asynccontextmanager
    async def read(
        self,
        *,
        is_full: Callable[[], bool] = lambda: False,
        clock: Callable[[], int] = time.time_ns,
        **settings: object,
    ) -> AsyncIterator[Reading]:
        """Each sample that was read is delivered or dropped with a reason."""
        config = Config.model_validate(
            {
                "job_name": self.name,
                "kafka": {"bootstrap": [self.broker.address]},
                "topics": [self.name],
                "group": self.name,
                "format": "gnmic_event",
                "gather_s": 0.02,
                **settings,
            }
        )
        ledger, emitted, workers = Ledger(0), Emitted(), ThreadPoolExecutor(1)
        context = CollectorContext(ledger, clock, workers, is_full=is_full)
        task = asyncio.create_task(KafkaTopics(config, context, LinkTable()).run(emitted))
        try:
            yield Reading(emitted, ledger)
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            workers.shutdown()
        assert_accounted(ledger, emitted.batches)

    def counted(self, name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(f"{_METRIC}{name}", {"job": self.name, **labels}) or 0.0
