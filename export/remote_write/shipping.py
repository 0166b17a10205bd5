"""Sends blocks until the receiver has decided on every sample: repeats, takes apart, counts."""

import asyncio
import random
import time
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from common.retry import wait_s
from export.remote_write import metrics
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import Rows, encode_request
from export.remote_write.metrics import DropReason
from export.remote_write.requests import count, cut, halves, probes
from export.remote_write.transport import Answer, Later, Transport

log = structlog.get_logger("remote_write")


@dataclass(slots=True)
class Shipped:
    """Samples of the bus that the receiver took and refused so far."""

    sent: int = 0
    rejected: int = 0


class Shipping:
    """One receiver, one request at a time, so that the order within a series is kept."""

    def __init__(self, config: RemoteWriteConfig, transport: Transport) -> None:
        self._config = config
        self._transport = transport
        self.problem: str | None = None
        self.total = Shipped()

    async def ship(self, blocks: Sequence[Rows]) -> None:
        """Returns when each sample was taken or refused for good, however long the receiver is away."""
        for request in cut(blocks, self._config.max_samples_per_send):
            await self._decide(request)

    async def _decide(self, blocks: list[Rows]) -> None:
        """Bisects what is refused: one bad series costs itself, and about two requests for each halving."""
        stack = [blocks]
        while stack:
            part = stack.pop()
            if await self._send(part) is Answer.TAKEN:
                self._count(part, taken=True)
            elif count(part) == 1 or (len(part) == 1 and await self._is_hopeless(part[0])):
                self._count(part, taken=False)
            else:
                stack += reversed(halves(part))

    async def _is_hopeless(self, rows: Rows) -> bool:
        """Whether a receiver that takes none of some samples spread over a block takes any of it.

        A whole block is refused when it is too old; to bisect that would cost two requests a sample.
        """
        chosen = probes(rows)
        for probe in chosen:
            if await self._send([probe]) is Answer.TAKEN:
                return False  # sent again with its block: the same value at the same time is no news to a receiver
        return bool(chosen)

    async def _send(self, blocks: list[Rows]) -> Answer:
        body = await asyncio.to_thread(encode_request, blocks)
        failures = 0
        while True:
            begin_s = time.monotonic()
            try:
                answer = await self._transport.send(body)
            except Later as error:
                failures += 1
                metrics.REQUESTS.labels("retried").inc()
                self.problem = f"{self._config.name}: {error}"
                log.warning("receiver does not take samples", problem=self.problem)
                await asyncio.sleep(self._wait_s(failures, error.after_s))
                continue
            metrics.SECONDS.observe(time.monotonic() - begin_s)
            metrics.REQUESTS.labels(answer).inc()
            self.problem = None
            if answer is Answer.TAKEN:
                metrics.BYTES.inc(len(body))
            return answer

    def _wait_s(self, failures: int, asked_s: float | None) -> float:
        config = self._config
        own_s = wait_s(failures, first_s=config.retry_first_s, most_s=config.retry_most_s, chance=random.random())
        return own_s if asked_s is None else max(own_s, asked_s)

    def _count(self, blocks: Sequence[Rows], *, taken: bool) -> None:
        real = count([rows for rows in blocks if not rows.synthetic])
        if taken:
            self.total.sent += real
            metrics.SENT.inc(real)
            metrics.SYNTHETIC.inc(count(blocks) - real)
        else:
            self.total.rejected += real
            metrics.DROPPED.labels(DropReason.REJECTED).inc(real)
            log.warning("samples refused", receiver=self._config.name, samples=count(blocks), why=self._transport.said)
