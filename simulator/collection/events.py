"""What is due next: reads, collections, arrivals, polls, ticks. Times are nanoseconds since the start."""

import heapq
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from simulator.collection.groups import SeriesGroup
from telemetry.samples import SampleBatch


class Kind(Enum):
    READ = auto()  # an exporter reads a group of series of its device
    COLLECT = auto()  # a collector asks for a group
    ARRIVE = auto()  # a collection has ended: its batch is published
    POLL_JOBS = auto()
    TICK = auto()  # a part of the cluster's interval is over


class Event(NamedTuple):
    """position: of the target. what: the group, or the batch that arrives."""

    at_ns: int
    number: int  # in the order in which they were added, so that no event is compared by what it carries
    kind: Kind
    position: int = 0
    what: SeriesGroup | SampleBatch | None = None


class Events:
    """Events in the order of time."""

    def __init__(self) -> None:
        self._heap: list[Event] = []
        self._number = 0

    @property
    def next_ns(self) -> int:
        return self._heap[0].at_ns

    def add(self, at_ns: int, kind: Kind, position: int = 0, what: SeriesGroup | SampleBatch | None = None) -> None:
        """``at_ns`` must be after what was popped."""
        self._number += 1
        heapq.heappush(self._heap, Event(at_ns, self._number, kind, position, what))

    def pop(self) -> list[Event]:
        """All of the next moment."""
        at_ns, found = self.next_ns, []
        while self._heap and self._heap[0].at_ns == at_ns:
            found.append(heapq.heappop(self._heap))
        return found


@dataclass(slots=True)
class Due:
    """What is due at one moment. reads, collections: groups by position of the target. arrivals: (position, batch)."""

    reads: defaultdict[int, list[SeriesGroup]] = field(default_factory=lambda: defaultdict(list))
    collections: defaultdict[int, list[SeriesGroup]] = field(default_factory=lambda: defaultdict(list))
    arrivals: list[tuple[int, SampleBatch]] = field(default_factory=list)
    polls_jobs: bool = False
    is_tick: bool = False
    ends_interval: bool = False
