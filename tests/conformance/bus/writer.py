"""A process that publishes numbers for ever and prints each one once it is acknowledged. Arguments: bus file, topic."""

import asyncio
import sys
from pathlib import Path

from bus.base import Message
from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from telemetry.topics import Topic


async def main(path: str, name: str, key: str) -> None:
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=Path(path))))
    await bus.start()
    topic, n = Topic(name), 0
    while True:
        await bus.publish(topic, [Message(key.encode(), str(n + i).encode()) for i in range(10)])
        n += 10
        print(n - 1, flush=True)


asyncio.run(main(*sys.argv[1:]))
