"""A process whose files may not grow for a while: does its bus say so, and recover? Argument: bus file."""

import asyncio
import resource
import signal
import sys
from pathlib import Path

from bus.base import Message
from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from common.errors import Unavailable
from telemetry.topics import Topic
from tests.waiting import DEADLINE_S


async def main(path: str) -> None:
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=Path(path))))
    await bus.start()
    topic, message = Topic("test.full.v1"), Message(b"leaf1", bytes(100_000))
    await bus.publish(topic, [message])
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, resource.RLIM_INFINITY))
    acknowledged = 1
    try:
        while True:
            await bus.publish(topic, [message])
            acknowledged += 1
    except Unavailable:
        assert bus.problem() is not None
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    async with asyncio.timeout(DEADLINE_S):
        while bus.problem() is not None:  # noqa: ASYNC110  # it recovers by itself, without being asked
            await asyncio.sleep(0.02)
    await bus.publish(topic, [message])
    await bus.stop()
    print(acknowledged + 1)


signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
asyncio.run(main(sys.argv[1]))
