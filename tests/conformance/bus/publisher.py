"""A process that publishes one number on every partition, and ends after some time.

Arguments: settings of the bus, topic, its partitions, seconds.
"""

import asyncio
import sys
import time

from bus.base import Message
from bus.config import BusConfig
from bus.open import open_bus
from bus.partitions import partition_of
from telemetry.topics import Topic


async def main(settings: str, name: str, partitions: int) -> None:
    bus = open_bus(BusConfig.model_validate_json(settings))
    await bus.start()
    keys = {partition_of(b"%d" % n, partitions): b"%d" % n for n in range(100)}
    await bus.publish(Topic(name, partitions=partitions), [Message(key, b"1") for key in keys.values()])
    await bus.stop()


asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
time.sleep(float(sys.argv[4]))
