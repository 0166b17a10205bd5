"""When each group of each target is collected, and when its values were read. Times are nanoseconds since the start."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

import numpy as np

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.collection.config import Timing

GRID_NS = NS_PER_S // 4
"""Phases, jitter and the ends of collections are multiples of it: the cluster is read at most four times a second.

A window of ingest/collectors/gnmi is open for half a second, and SONiC's shortest default poll is one second.
"""


@dataclass(frozen=True, slots=True)
class Turn:
    """When a target is read that has the interval of the cluster: in one of ``parts`` equal parts of it."""

    interval_s: float
    part: int
    parts: int

    def at_ns(self, number: int) -> int:
        """Its collection ``number``: 0, 1, 2, …"""
        tick_s = self.interval_s / self.parts
        return int((number * self.parts + self.part + 1) * tick_s * NS_PER_S)


class GroupTimes:
    """The collections of one group of one target, in order.

    connected_ns: when its target was connected. All its groups count their intervals from there, so that their
    collections fall together where the intervals allow it, as the samples of one gNMI subscription do.
    Raises ConfigError when the jitter is as long as the interval.
    """

    def __init__(self, timing: Timing, turn: Turn, connected_ns: int, rng: np.random.Generator) -> None:
        self._timing, self._turn, self._connected_ns, self._rng = timing, turn, connected_ns, rng
        self.interval_s = one_of(timing.interval_s, rng) or turn.interval_s
        self.refresh_s = one_of(timing.refresh_s, rng)
        if timing.jitter_s >= self.interval_s:
            raise ConfigError(
                f"jitter_s {timing.jitter_s:g}: expected less than the cluster's interval_s, {self.interval_s:g}"
            )
        self._refreshes = self._refresh_times()
        self._refreshed_ns, self._refreshes_ns = 0, next(self._refreshes)

    @property
    def reads_every_s(self) -> float:
        """Time between two reads of the device."""
        return max(self.interval_s, self.refresh_s)

    def __iter__(self) -> Iterator[tuple[int, int]]:
        """(time of the collection, time at which its values were read)."""
        for number in count():
            at_ns = self._nominal_ns(number) + _jitter_ns(self._timing.jitter_s, self._rng)
            yield at_ns, self._read_ns(at_ns)

    def reads(self) -> Iterator[int]:
        """When an exporter that nobody schedules reads its device: in order, of a cached group, in place of iterating.

        One without a cache that is collected less often than the cluster's interval reads when it is collected.
        """
        if self.refresh_s:
            yield self._refreshes_ns
            yield from self._refreshes
        else:
            yield from (self._nominal_ns(number) for number in count())

    def _nominal_ns(self, number: int) -> int:
        if not self._timing.interval_s:
            return self._turn.at_ns(number)
        interval_ns = round(self.interval_s * NS_PER_S)
        first_ns = on_grid(self._connected_ns % interval_ns) or interval_ns
        return first_ns + number * interval_ns

    def _read_ns(self, at_ns: int) -> int:
        """The last refresh at or before ``at_ns``."""
        if not self.refresh_s:
            return at_ns
        while self._refreshes_ns <= at_ns:
            self._refreshed_ns, self._refreshes_ns = self._refreshes_ns, next(self._refreshes)
        return self._refreshed_ns

    def _refresh_times(self) -> Iterator[int]:
        """Each begins its period again from the refresh before: the thread sleeps for a whole period."""
        at_ns = on_grid(round(float(self._rng.random()) * self.refresh_s * NS_PER_S))
        while True:
            yield at_ns
            at_ns += round(self.refresh_s * NS_PER_S) + _jitter_ns(self._timing.refresh_jitter_s, self._rng)


def one_of(periods: tuple[float, ...], rng: np.random.Generator) -> float:
    """One of them by chance, 0 when there is none."""
    return periods[int(rng.integers(len(periods)))] if periods else 0.0


def _jitter_ns(jitter_s: float, rng: np.random.Generator) -> int:
    return on_grid(round(float(rng.uniform(0.0, jitter_s)) * NS_PER_S)) if jitter_s else 0


def on_grid(ns: int) -> int:
    """The last multiple of ``GRID_NS`` at or before ``ns``."""
    return ns - ns % GRID_NS
