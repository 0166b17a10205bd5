"""The export stage: all receivers of remote write, and the one right of the process to send to them."""

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bus.base import Bus
from bus.owner.role import with_contents
from bus.owner.sending import SendingRight
from common.tasks import first_failure
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.service import RemoteWriteService

STAGE = "export"
_WHERE = {"url", "basic_auth", "bearer_token_file", "headers", "external_labels"}


class ExportStage:
    """A service for each receiver. A newer process with the same receivers ends this one: see ``wait``."""

    def __init__(self, configs: Sequence[RemoteWriteConfig], bus: Bus, clock: Callable[[], int] = time.time_ns) -> None:
        self._right = SendingRight(bus, STAGE, partial(destination_of, configs))
        self.services = [RemoteWriteService(config, bus, self._right, clock) for config in configs]

    async def start(self) -> None:
        """As that of the services, in their order."""
        for service in self.services:
            await service.start()
        await self._right.start()

    async def wait(self) -> None:
        """For ever, or until the work ends by itself: then its error is raised, Superseded when it was replaced."""
        works = [asyncio.create_task(service.wait()) for service in self.services]
        await first_failure([*works, self._right.task])

    async def stop(self) -> None:
        """What was not accepted yet is still on the bus."""
        await asyncio.gather(*(service.stop() for service in self.services))
        await self._right.stop()


def destination_of(configs: Sequence[RemoteWriteConfig]) -> list[dict[str, Any]]:
    """Addresses, credentials, tenants and external labels of all receivers, with the secrets in files. Blocking.

    Of all at once: who sends to one of two replaces nobody who sends to both. Labels are what a series is known by.
    """
    found = [with_contents(config.model_dump(mode="json", include=_WHERE)) for config in configs]
    return sorted(found, key=str)
