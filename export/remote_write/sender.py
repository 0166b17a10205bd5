"""Sends blocks until the receiver has decided on every sample: repeats, divides, counts."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import structlog

from bus.owner.sending import SendingRight
from common.errors import Unavailable
from common.retry import retry
from export.remote_write import metrics
from export.remote_write.client import RemoteWriteClient, WriteResult
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import SampleBlock, encode_request
from export.remote_write.metrics import DropReason
from export.remote_write.requests import count, halves, probes, split

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Totals:
    """Samples of the bus that the receiver accepted and rejected so far."""

    accepted: int = 0
    rejected: int = 0


class SampleSender:
    """One receiver, one request at a time, so that the order within a series is kept. right: asked before each."""

    def __init__(self, config: RemoteWriteConfig, client: RemoteWriteClient, right: SendingRight) -> None:
        self._config = config
        self._client = client
        self._right = right
        self.problem: str | None = None
        self.total = Totals()

    async def send(self, blocks: Sequence[SampleBlock]) -> None:
        """Returns when each sample was accepted or rejected for good, however long the receiver is away.

        Superseded when another process took over.
        """
        for request in split(blocks, self._config.max_samples_per_send):
            await self._send(request)

    async def _send(self, blocks: list[SampleBlock]) -> None:
        """Bisects what is rejected: one bad series costs itself, and about two requests for each halving."""
        stack = [blocks]
        while stack:
            part = stack.pop()
            result = await self._write(part)
            if result.accepted:
                self._count_accepted(part)
            elif count(part) == 1 or (len(part) == 1 and await self._is_hopeless(part[0])):
                self._count_rejected(part, result.explanation)
            else:
                stack += reversed(halves(part))

    async def _is_hopeless(self, block: SampleBlock) -> bool:
        """Whether a receiver that accepts none of some samples spread over a block accepts any of it.

        A whole block is rejected when it is too old; to bisect that would cost two requests a sample.
        """
        chosen = probes(block)
        for probe in chosen:
            if (await self._write([probe])).accepted:
                return False  # sent again with its block: receivers drop the same value at the same time
        return bool(chosen)

    async def _write(self, blocks: list[SampleBlock]) -> WriteResult:
        body = await asyncio.to_thread(encode_request, blocks)
        result = await retry(
            partial(self._request, body),
            on=Unavailable,
            first_s=self._config.retry_first_s,
            most_s=self._config.retry_most_s,
            failed=self._postponed,
        )
        metrics.REQUESTS.labels("accepted" if result.accepted else "rejected").inc()
        self.problem = None
        if result.accepted:
            metrics.BYTES.inc(len(body))
        return result

    async def _request(self, body: bytes) -> WriteResult:
        await self._right.confirm()
        begin_s = time.monotonic()
        result = await self._client.send(body, self._right.headers())
        metrics.SECONDS.observe(time.monotonic() - begin_s)
        return result

    def _postponed(self, error: Exception) -> None:
        metrics.REQUESTS.labels("retried").inc()
        self.problem = f"{self._config.name}: {error}"
        log.warning("receiver does not accept samples", receiver=self._config.name, error=str(error))

    def _count_accepted(self, blocks: Sequence[SampleBlock]) -> None:
        real = _of_the_bus(blocks)
        self.total.accepted += real
        metrics.PROCESSED.inc(real)
        metrics.SYNTHETIC.inc(count(blocks) - real)

    def _count_rejected(self, blocks: Sequence[SampleBlock], explanation: str) -> None:
        real = _of_the_bus(blocks)
        self.total.rejected += real
        metrics.DROPPED.labels(DropReason.REJECTED).inc(real)
        log.warning("samples rejected", receiver=self._config.name, samples=count(blocks), error=explanation)


def _of_the_bus(blocks: Sequence[SampleBlock]) -> int:
    """Samples that were on the bus, not made here."""
    return count([block for block in blocks if not block.synthetic])
