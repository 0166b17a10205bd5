"""How far a stage is behind the bus, and how long it takes to catch up at its present pace."""

import time
from collections.abc import Callable

from bus.base import Consumer
from bus.metrics import CATCH_UP_SECONDS, LAG_RECORDS
from telemetry.ledger import CATCH_UP_SECONDS as CATCH_UP
from telemetry.ledger import LAG_RECORDS as LAG


class Lag:
    """Of one stage process. ``measure`` is called every few seconds: the pace is that since the call before.

    clock: seconds that never go back.
    """

    def __init__(self, stage: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._records, self._seconds = LAG_RECORDS.labels(stage), CATCH_UP_SECONDS.labels(stage)
        self._clock = clock
        self._before: tuple[float, int] | None = None

    async def measure(self, *consumers: Consumer) -> dict[str, float]:
        """Details for the stage's report: the records that wait, and the seconds until none does where they get fewer.

        Records of the bus that are known now: where it is away, those that were known before.
        """
        now_s, lag = self._clock(), sum([await consumer.lag() for consumer in consumers])
        seconds = _catch_up_s(self._before, now_s, lag)
        self._before = now_s, lag
        self._records.set(lag)
        self._seconds.set(float("inf") if seconds is None else seconds)
        return {LAG: float(lag)} | ({} if seconds is None else {CATCH_UP: seconds})


def _catch_up_s(before: tuple[float, int] | None, now_s: float, lag: int) -> float | None:
    """0 without a lag; None at the first look, and where it does not get less."""
    if lag == 0:
        return 0.0
    if before is None or lag >= before[1]:
        return None
    return lag * (now_s - before[0]) / (before[1] - lag)
