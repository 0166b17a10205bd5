"""Kafka's own administration of topics."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

from tests.servers.kafka import KafkaServer


@asynccontextmanager
async def administration(*brokers: KafkaServer) -> AsyncIterator[Any]:
    admin = AIOKafkaAdminClient(bootstrap_servers=[broker.address for broker in brokers])
    await admin.start()
    try:
        yield admin
    finally:
        await admin.close()
