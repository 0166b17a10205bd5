"""Sending as the owner of a role: to receivers outside, which work also while the bus is away."""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog

from bus.base import Bus
from bus.owner.ownership import Ownership
from bus.owner.role import role_of
from bus.publishing import publish_with_retry
from common.errors import Unavailable
from common.tasks import cancel

ROLE_HEADER = "X-Fabricscope-Owner"
EPOCH_HEADER = "X-Fabricscope-Owner-Epoch"
_LOOK_S = 0.5  # how soon a process that has nothing to send ends once it is replaced
# Of each request while the bus does not answer, and for how long it is not asked again then.
_ANSWER_S, _UNASKED_S = 2.0, 10.0
log = structlog.get_logger(__name__)


class SendingRight:
    """Whether this process may send what its role sends: it does until the bus says that another one took over.

    A bus that does not say mutes nobody. Then two may send, as two that do not see each other.
    destination: where the outputs go, see ``role_of``; called in a thread, as it may read files.
    """

    def __init__(self, bus: Bus, stage: str, destination: Callable[[], Any]) -> None:
        self._bus, self._stage, self._destination = bus, stage, destination
        self._ownership: Ownership | None = None
        self._asked = asyncio.Event()  # whether the bus was asked at all
        self._unasked_until_s = 0.0
        self._task: asyncio.Task[None] | None = None

    @property
    def epoch(self) -> int:
        """Of this process; 0 while the bus does not say."""
        return self._ownership.epoch if self._ownership is not None and self._ownership.is_claimed else 0

    def headers(self) -> Mapping[str, str]:
        """Of every request, for receivers that compare: the role, and its epoch. None before the process has one."""
        if self._ownership is None or not self.epoch:
            return {}
        return {ROLE_HEADER: self._ownership.role.name, EPOCH_HEADER: str(self.epoch)}

    def bus_headers(self) -> Mapping[str, bytes]:
        """Of what this process publishes about itself, see ``Ownership.headers``. None before it has an epoch."""
        return self._ownership.headers if self._ownership is not None and self.epoch else {}

    async def start(self) -> None:
        """Replaces an owner before this process, in the background."""
        self._task = asyncio.create_task(self._run())

    @property
    def task(self) -> "asyncio.Task[None]":
        """Ends with Superseded when another process took over."""
        assert self._task is not None, "start it first"
        return self._task

    async def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        task, self._task = self._task, None
        await cancel([task] if task is not None else [])
        if self._ownership is not None:
            await self._ownership.stop()

    async def confirm(self) -> None:
        """To be called before each request, however soon it follows on another one: the process may have been stopped.

        Superseded when another process took over.
        """
        await self._asked.wait()
        if self._ownership is None or not self._ownership.is_claimed or time.monotonic() < self._unasked_until_s:
            return
        try:
            await self._ownership.confirm()
        except Unavailable as error:
            self._not_answered(error)

    async def _run(self) -> None:
        role = await asyncio.to_thread(lambda: role_of(self._stage, self._destination()))
        self._ownership = Ownership(self._bus, role, answer_s=_ANSWER_S)
        await publish_with_retry(self._ownership.claim, failed=self._not_answered)
        self._unasked_until_s = 0.0
        self._asked.set()
        log.info("owns what it sends", role=role.name, epoch=self.epoch)
        while True:
            await self._ownership.look()
            await asyncio.sleep(_LOOK_S)

    def _not_answered(self, error: Exception) -> None:
        self._asked.set()
        self._unasked_until_s = time.monotonic() + _UNASKED_S
        log.warning("the bus does not say who owns what is sent: sent all the same", error=str(error))
