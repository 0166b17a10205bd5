"""Which samples of a switch's streams are lost, and which bursts end its streams."""

from collections.abc import Callable
from enum import Enum, auto

from simulator.collection.losses import Fate, LossState
from telemetry.samples import DownReason


class SampleOutcome(Enum):
    SENT = auto()
    LOST = auto()
    CLOSED = auto()  # the agent ends the stream


class SampleLosses:
    """The losses of one switch, which all its streams share. elapsed_ns: simulated time since the start.

    retry_s: real seconds after which a stream that the agent left waiting is tried again.
    """

    def __init__(self, state: LossState, elapsed_ns: Callable[[], int], retry_s: float) -> None:
        self._state, self._elapsed_ns, self.retry_s = state, elapsed_ns, retry_s

    def next(self) -> SampleOutcome:
        """What becomes of the samples that are due now."""
        fate = self._state.fate(self._elapsed_ns())
        if fate is Fate.ARRIVES:
            return SampleOutcome.SENT
        return SampleOutcome.CLOSED if fate is DownReason.CLOSED else SampleOutcome.LOST
