"""How the polls of one exporter end: answered late, refused by a busy one, cut off, or never answered."""

import asyncio
from collections.abc import Callable
from enum import Enum, auto

import numpy as np

from simulator.collection.config import Durations
from simulator.collection.losses import Fate, LossState
from simulator.collection.target import poll_s
from telemetry.samples import DownReason


class PollOutcome(Enum):
    ANSWERED = auto()
    UNAVAILABLE = auto()  # status 503
    RESET = auto()  # the connection is cut
    SILENT = auto()  # no answer until the collector gives up


_OUTCOMES: dict[Fate | DownReason, PollOutcome] = {
    Fate.ARRIVES: PollOutcome.ANSWERED,
    # A collector always knows that it has no answer; nothing that a server does makes a poll vanish
    Fate.VANISHES: PollOutcome.UNAVAILABLE,
    DownReason.TIMEOUT: PollOutcome.SILENT,
    DownReason.REFUSED: PollOutcome.RESET,
    DownReason.RESET: PollOutcome.RESET,
}


class Polls:
    """The polls of one exporter, in order.

    losses: None when none is lost. durations: None for an exporter that answers at once. timeout_s: after which its
    collector gives up. elapsed_ns: simulated time since the start. speed: simulated seconds per second.
    silent_s: how long a poll that is never answered stays open, real seconds.
    """

    def __init__(
        self,
        losses: LossState | None,
        durations: Durations | None,
        rng: np.random.Generator,
        timeout_s: float,
        elapsed_ns: Callable[[], int],
        speed: float,
    ) -> None:
        self._losses, self._durations, self._rng = losses, durations, rng
        self.silent_s = 2.0 * timeout_s / speed
        self._elapsed_ns, self._speed = elapsed_ns, speed

    async def end(self) -> PollOutcome:
        """What becomes of the poll that arrives now, once its exporter, or its collector, has waited for it."""
        outcome, took_s = self.next()
        await asyncio.sleep(self.silent_s if outcome is PollOutcome.SILENT else took_s)
        return outcome

    def next(self) -> tuple[PollOutcome, float]:
        """What becomes of the poll that arrives now, and how long the exporter takes, in real seconds."""
        took_s = poll_s(self._durations, self._rng) / self._speed if self._durations is not None else 0.0
        fate = self._losses.fate(self._elapsed_ns()) if self._losses is not None else Fate.ARRIVES
        return _OUTCOMES[fate], took_s
