"""How much the hosts of one job send to each other, against its own past, and since when nothing.

Training sends in every step, and a step takes seconds, at most a minute or so. A job that waits for a part that is slow
sends less; one whose ranks wait for each other for ever sends nothing (Jiang et al., MegaScale, NSDI 2024, watch
the traffic of RDMA for it). How long a job is silent by itself is learned from the silences that ended.
"""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from statistics import median
from typing import Any

# Names of the evidence: the part of the usual that is sent, and how long nothing is and all GPUs poll.
SENT_SHARE, SILENT_SECONDS, HANG_SECONDS = "sent_share", "silent_seconds", "hang_seconds"
HANGS_BY_ITSELF_S = 29.0  # from here on: a GPU that hangs is named by then (``gpu_hung.py``), and what is gone before
_SILENT_SHARE = 0.01  # of what it usually sends: heartbeats of frameworks and NICs remain; an assumption
_LEARNED_MIN, _LEARNED_MAX = 6, 60  # collections
_BYTES_PER_SECOND_MIN = 10e6  # of each NIC on average: heartbeats, logs and metrics send less
_HANG_ROUNDS_MIN = 2  # collections in a row
_TIMES = 2.0  # as long as the longest silence that ended by itself, as for a late checkpoint; an assumption
# PyTorch's watchdog ends a collective after ten minutes by default (ProcessGroupNCCL): whoever is silent for longer has
# not gone on by itself.
WATCHDOG_NS = 600 * 10**9
_STALE_ROUNDS = 3.0


@dataclass(frozen=True, slots=True)
class Silence:
    """since_ns: when the open one began, 0 outside of one; rounds: whole collections of it.

    longest_ns: the longest that was the job's own and ended by itself. imposed: whether a fault was known meanwhile
    that may be why, as a link that is down.
    """

    since_ns: int = 0
    rounds: int = 0
    longest_ns: int = 0
    imposed: bool = False

    def updated(self, before_ns: int, *, silent: bool, imposed: bool) -> "Silence":
        """With one more collection. before_ns: of the one before it."""
        if silent:
            imposed |= self.imposed
            return replace(self, since_ns=self.since_ns or before_ns, rounds=self.rounds + 1, imposed=imposed)
        lasted_ns = before_ns - self.since_ns if self.since_ns and not self.imposed else 0
        longest_ns = max(self.longest_ns, lasted_ns) if lasted_ns < WATCHDOG_NS else self.longest_ns
        return Silence(longest_ns=longest_ns)

    def lasts_s(self, newest_ns: int, rounds_min: int) -> float:
        """Seconds; NaN before so many collections, and while it is no longer than the job's own silences."""
        lasts_ns = newest_ns - self.since_ns
        unusual = self.rounds >= rounds_min and lasts_ns > _TIMES * self.longest_ns
        return lasts_ns / 1e9 if unusual else math.nan


@dataclass(frozen=True, slots=True)
class Sending:
    """One job; ``updated`` returns the next state.

    learned: mean bytes a second of a NIC in the newest collections in which the job worked as usual.
    newest_ns: newest sample of the newest whole collection; round_ns: time from the one before it. share: what was sent
    in it, as a part of the usual; NaN while that is unknown. silence: while nothing is sent; hang: while all GPUs poll
    meanwhile, which is no pause of a program that writes or loads.
    """

    learned: tuple[float, ...] = ()
    newest_ns: int = 0
    round_ns: int = 0
    share: float = math.nan
    silence: Silence = Silence()
    hang: Silence = Silence()

    def updated(
        self, at_ns: int, sent: float, busiest: float, *, works: bool, polls: bool, imposed: bool = False
    ) -> "Sending":
        """With one more collection of all NICs.

        sent: mean bytes a second of a NIC; busiest: those of the one that sent most. works: as much as usual. polls:
        all GPUs run kernels and compute nothing. imposed: whether a fault is known that may keep it from sending.
        """
        usual, before_ns = self.usual, self.newest_ns
        silent = max(sent, busiest) < _SILENT_SHARE * usual
        return replace(
            self,
            learned=(*self.learned[1 - _LEARNED_MAX :], sent) if works and not silent else self.learned,
            newest_ns=at_ns,
            round_ns=at_ns - before_ns if before_ns else 0,
            share=sent / usual,
            silence=self.silence.updated(before_ns, silent=silent, imposed=imposed),
            hang=self.hang.updated(before_ns, silent=silent and polls, imposed=imposed),
        )

    @property
    def usual(self) -> float:
        """Median bytes a second of a NIC; NaN while too little is known, and of a job that hardly sends."""
        level = median(self.learned) if len(self.learned) >= _LEARNED_MIN else 0.0
        return level if level >= _BYTES_PER_SECOND_MIN else math.nan

    def known(self, now_ns: int) -> bool:
        """Whether the newest collection says something about now."""
        return bool(self.round_ns) and now_ns - self.newest_ns <= _STALE_ROUNDS * self.round_ns

    @property
    def silent_s(self) -> float:
        """Seconds without traffic; NaN where that is usual, as it is in a checkpoint, while not all GPUs poll."""
        lasts_s = self.silence.lasts_s(self.newest_ns, 1)
        return self.hang.lasts_s(self.newest_ns, 1) if math.isnan(lasts_s) else lasts_s

    @property
    def hangs_s(self) -> float:
        """Seconds in which all GPUs polled and nothing was sent; NaN before two collections, and where it is usual."""
        return self.hang.lasts_s(self.newest_ns, _HANG_ROUNDS_MIN)

    def as_json(self) -> dict[str, Any]:
        return {**asdict(self), "share": None if math.isnan(self.share) else self.share}

    @staticmethod
    def from_json(known: Mapping[str, Any]) -> "Sending":
        share = math.nan if known["share"] is None else known["share"]
        silences = {name: Silence(**known[name]) for name in ("silence", "hang")}
        return Sending(**{**known, **silences, "learned": tuple(known["learned"]), "share": share})
