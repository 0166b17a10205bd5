"""Sends blocks until the receiver has decided on every sample: repeats, divides, counts."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import inf

import structlog

from bus.owner.sending import SendingRight
from common.errors import Unavailable
from common.retry import retry
from export.remote_write import metrics
from export.remote_write.client import RemoteWriteClient, WriteResult
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import SampleBlock, encode_request
from export.remote_write.encoder_second import encode_second
from export.remote_write.metadata import encode_metadata
from export.remote_write.metrics import DropReason
from export.remote_write.protocol import Version
from export.remote_write.requests import PROBES, count, halves, probes, split

DIVISIONS_MAX = 300  # requests for one that was refused: isolates a dozen bad series of 10,000
METADATA_S = 300.0  # a receiver that was restarted asks for it in its own time
log = structlog.get_logger(__name__)


@dataclass(slots=True)
class Totals:
    """Samples of the bus that the receiver accepted and rejected so far."""

    accepted: int = 0
    rejected: int = 0


class SampleSender:
    """One receiver, one request at a time, so that the order within a series is kept. right: asked before each.

    version: of remote write that is spoken now.
    """

    def __init__(self, config: RemoteWriteConfig, client: RemoteWriteClient, right: SendingRight) -> None:
        self._config = config
        self._client = client
        self._right = right
        self._accepted = 0  # requests
        self._refuses_all = False  # the last request of which nothing was accepted, by its probes
        self._is_agreed = config.protocol != "auto"  # on the version
        self._described: dict[str, float] = {}  # when the metadata of a metric was sent last, by 1.0
        self.version = Version.SECOND if config.protocol == "auto" else Version(config.protocol)
        self.problem: str | None = None
        self.total = Totals()

    async def send(self, blocks: Sequence[SampleBlock]) -> None:
        """Returns when each sample was accepted or rejected for good, however long the receiver is away.

        Superseded when another process took over.
        """
        for request in split(blocks, self._config.max_samples_per_send):
            await self._send(request)

    async def _send(self, blocks: list[SampleBlock]) -> None:
        result = await self._write(blocks)
        if self._is_settled(blocks, result):
            return
        if await self._is_hopeless(blocks, 1 if self._refuses_all else PROBES):
            self._refuses_all = True
            self._count_rejected(blocks, result.explanation)
            return
        self._refuses_all = not await self._divide(blocks)

    async def _divide(self, blocks: list[SampleBlock]) -> bool:
        """Whether any was accepted. One bad series costs itself, and about two requests for each halving.

        ``DIVISIONS_MAX`` bounds that where much is bad: from there on parts are not divided any more.
        """
        stack = list(reversed(halves(blocks)))
        accepted_before = self._accepted
        written = 0
        while stack:
            part = stack.pop()
            result = await self._write(part)
            written += 1
            if self._is_settled(part, result):
                continue
            is_hopeless = written >= DIVISIONS_MAX
            if not is_hopeless and any(part == [block] for block in blocks):  # a whole block may be too old
                written += len(probes(part))
                is_hopeless = await self._is_hopeless(part, PROBES)
            if is_hopeless:
                self._count_rejected(part, result.explanation)
            else:
                stack += reversed(halves(part))
        return self._accepted > accepted_before

    def _is_settled(self, blocks: Sequence[SampleBlock], result: WriteResult) -> bool:
        """Counts what the receiver has decided on, if that is all of them."""
        size = count(blocks)
        if result.accepted:
            self._accepted += 1
            self._refuses_all = False
            self._count_accepted(blocks)
        elif result.written is not None:
            self._count_partly(blocks, min(result.written, size), result.explanation)
        elif size == 1:
            self._count_rejected(blocks, result.explanation)
        else:
            return False
        return True

    async def _is_hopeless(self, blocks: Sequence[SampleBlock], most: int) -> bool:
        """Whether a receiver that accepts none of some samples spread over a request accepts any of it.

        A whole request is rejected when it is too old, say; to bisect that would cost two requests a sample.
        """
        chosen = probes(blocks, most)
        for probe in chosen:
            if (await self._write([probe])).accepted:
                return False  # sent again with its block: receivers drop the same value at the same time
        return bool(chosen)

    async def _write(self, blocks: list[SampleBlock]) -> WriteResult:
        result = await self._write_as(blocks)
        doubts = result.unsupported or (not self._is_agreed and not result.accepted and result.written is None)
        if self.version is Version.SECOND and doubts and self._config.protocol == "auto":
            # one of 1.0 says 415, 400, or that all is well without saying how many samples it has written
            self.version, self._is_agreed = Version.FIRST, True
            log.info("receiver does not know remote write 2.0", receiver=self._config.name)
            result = await self._write_as(blocks)
        self._is_agreed |= result.accepted
        metrics.REQUESTS.labels("accepted" if result.accepted else "rejected").inc()
        self.problem = None
        return result

    async def _write_as(self, blocks: list[SampleBlock]) -> WriteResult:
        """By the version that is spoken now."""
        described = self._undescribed(blocks) if self.version is Version.FIRST else []
        body = await asyncio.to_thread(self._encode, blocks, described)
        result = await retry(
            partial(self._request, body),
            on=Unavailable,
            first_s=self._config.retry_first_s,
            most_s=self._config.retry_most_s,
            failed=self._postponed,
        )
        if result.accepted:
            metrics.BYTES.inc(len(body))
            self._described.update(dict.fromkeys(described, time.monotonic()))
        return result

    def _encode(self, blocks: list[SampleBlock], described: list[str]) -> bytes:
        if self.version is Version.SECOND:
            return encode_second(blocks)
        return encode_request(blocks, encode_metadata(described))

    def _undescribed(self, blocks: Sequence[SampleBlock]) -> list[str]:
        """Metrics whose metadata is due: 2.0 sends it with each series, 1.0 beside them now and then."""
        now_s = time.monotonic()
        tables = {id(block.labels): block.labels for block in blocks}
        names = dict.fromkeys(name for labels in tables.values() for name in labels.interned.metrics)
        return [name for name in names if now_s - self._described.get(name, -inf) >= METADATA_S]

    async def _request(self, body: bytes) -> WriteResult:
        await self._right.confirm()
        begin_s = time.monotonic()
        result = await self._client.send(body, self._right.headers(), self.version)
        metrics.SECONDS.observe(time.monotonic() - begin_s)
        if result.unsupported and self._config.protocol == "2.0":
            raise Unavailable(f"{result.explanation}: set protocol to auto", self._config.retry_most_s)
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

    def _count_partly(self, blocks: Sequence[SampleBlock], written: int, explanation: str) -> None:
        """Which ones were written, the receiver does not say: those made here first."""
        real = _of_the_bus(blocks)
        rejected = min(real, count(blocks) - written)
        self.total.accepted += real - rejected
        metrics.PROCESSED.inc(real - rejected)
        self._count_lost(rejected, count(blocks) - written, explanation)

    def _count_rejected(self, blocks: Sequence[SampleBlock], explanation: str) -> None:
        self._count_lost(_of_the_bus(blocks), count(blocks), explanation)

    def _count_lost(self, real: int, samples: int, explanation: str) -> None:
        self.total.rejected += real
        metrics.DROPPED.labels(DropReason.REJECTED).inc(real)
        log.warning("samples rejected", receiver=self._config.name, samples=samples, error=explanation)


def _of_the_bus(blocks: Sequence[SampleBlock]) -> int:
    """Samples that were on the bus, not made here."""
    return count([block for block in blocks if not block.synthetic])
