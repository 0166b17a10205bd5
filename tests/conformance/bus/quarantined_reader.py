"""A stage as a process of its own: it writes down what it has read, and some records end it.

Its argument is a file of JSON with ``bus``, ``topic``, ``dead``, ``notes`` and ``seen``. A record whose value is
``kill`` ends it at once, ``raise`` by an error; it ends by itself when it has read the topic.
"""

import asyncio
import json
import os
import signal
import sys
from pathlib import Path

from bus.base import Record
from bus.config import BusConfig
from bus.open import open_bus
from bus.quarantine.quarantine import Quarantine
from telemetry.topics import Topic


def work(records: list[Record], seen: Path) -> None:
    for record in records:
        if record.value == b"kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if record.value == b"raise":
            raise ZeroDivisionError
        with seen.open("a") as file:
            file.write(f"{record.partition} {record.offset} {(record.value or b'').decode()}\n")


async def run(settings: dict[str, str]) -> None:
    bus = open_bus(BusConfig.model_validate_json(settings["bus"]))
    await bus.start()
    quarantine = Quarantine(Path(settings["notes"]), bus, Topic(settings["dead"]))
    quarantine.start()
    reader = quarantine.guard(bus.consume([Topic(settings["topic"])], {}))
    try:
        while not await reader.at_end():
            records = await reader.poll(wait_s=1)
            with quarantine.working_on(records):
                work(records, Path(settings["seen"]))
    finally:
        await reader.stop()
        quarantine.stop()
        await bus.stop()
    print(quarantine.problem() or "")


if __name__ == "__main__":
    asyncio.run(run(json.loads(Path(sys.argv[1]).read_text())))
