"""When a STREAM subscription sends what: pure timing over queries, no sockets."""

from collections.abc import Iterator
from dataclasses import dataclass

from simulator.servers.gnmi.query import Query
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2

_NS_PER_S = 1_000_000_000
FASTEST_NS = _NS_PER_S // 10
"""Shortest sample interval; asking for 0 gives a second."""


@dataclass(slots=True)
class Sampled:
    """A path on its own clock. due_ns: monotonic time of the next sample."""

    query: Query
    interval_ns: int
    suppress: bool
    due_ns: int


@dataclass(slots=True)
class Watched:
    """A path that is sent when it changes, and whole every ``heartbeat_ns`` (0: never)."""

    query: Query
    heartbeat_ns: int
    due_ns: int


class StreamPlan:
    """The subscriptions of one STREAM. Times are monotonic nanoseconds; intervals are the client's, in real time."""

    def __init__(self) -> None:
        self._sampled: list[Sampled] = []
        self._watched: list[Watched] = []
        self._seen = 0

    def add(self, query: Query, subscription: gnmi_pb2.Subscription, mono_ns: int) -> None:
        """mono_ns: when it came. TARGET_DEFINED samples counters and watches the rest."""
        on_change = subscription.mode == gnmi_pb2.ON_CHANGE
        if subscription.mode == gnmi_pb2.TARGET_DEFINED:
            on_change = not query.counts
        if on_change:
            heartbeat = subscription.heartbeat_interval
            self._watched.append(Watched(query, heartbeat, mono_ns + heartbeat))
            return
        interval = max(subscription.sample_interval or _NS_PER_S, FASTEST_NS)
        self._sampled.append(Sampled(query, interval, subscription.suppress_redundant, mono_ns + interval))

    @property
    def watches(self) -> bool:
        return bool(self._watched)

    def next_due_ns(self) -> int | None:
        """When ``due`` has something to send by the clock alone; None when only changes are waited for."""
        times = [one.due_ns for one in self._sampled] + [one.due_ns for one in self._watched if one.heartbeat_ns]
        return min(times, default=None)

    def initial(self, snapshot: Snapshot, now_ns: int) -> Iterator[bytes]:
        """Everything once, as the first answer of a stream."""
        self._seen = snapshot.number
        for query in [one.query for one in self._sampled] + [one.query for one in self._watched]:
            yield from query.full(snapshot, now_ns)

    def due(self, snapshot: Snapshot, now_ns: int, mono_ns: int) -> Iterator[bytes]:
        """What is to be sent now: changes since the last snapshot, and samples whose time has come."""
        fresh, self._seen = snapshot.number != self._seen, snapshot.number
        for watched in self._watched:
            if watched.heartbeat_ns and watched.due_ns <= mono_ns:
                watched.due_ns = _after(watched.due_ns, watched.heartbeat_ns, mono_ns)
                yield from watched.query.full(snapshot, now_ns)
            elif fresh:
                yield from watched.query.changes(snapshot, now_ns)
        for sampled in self._sampled:
            if sampled.due_ns <= mono_ns:
                sampled.due_ns = _after(sampled.due_ns, sampled.interval_ns, mono_ns)
                send = sampled.query.changes if sampled.suppress else sampled.query.full
                yield from send(snapshot, now_ns)


def _after(due_ns: int, interval_ns: int, mono_ns: int) -> int:
    """The next multiple of the interval after ``mono_ns``: a late sample does not shift the ones after it."""
    return due_ns + interval_ns * ((mono_ns - due_ns) // interval_ns + 1)
