"""When a STREAM subscription sends which messages: timing alone, no sockets."""

from collections.abc import Iterator
from dataclasses import dataclass

from common.units import NS_PER_S
from simulator.servers.gnmi.query import Query
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2

FASTEST_NS = NS_PER_S // 10
"""Shortest sample interval; asking for 0 gives a second."""


@dataclass(slots=True)
class SampledPath:
    """A SAMPLE path. due_ns: monotonic time of the next sample. suppress: send only what changed."""

    query: Query
    interval_ns: int
    suppress: bool
    due_ns: int


@dataclass(slots=True)
class OnChangePath:
    """An ON_CHANGE path: sent when it changes, and complete every ``heartbeat_ns`` (0: never)."""

    query: Query
    heartbeat_ns: int
    due_ns: int


class StreamPlan:
    """The subscriptions of one STREAM. Times are monotonic nanoseconds; intervals are the client's, in real time."""

    def __init__(self) -> None:
        self._sampled: list[SampledPath] = []
        self._on_change: list[OnChangePath] = []
        self._seen = 0

    def add(self, query: Query, subscription: gnmi_pb2.Subscription, mono_ns: int) -> None:
        """Adds a subscription that arrived at ``mono_ns``. TARGET_DEFINED samples counters; the rest is ON_CHANGE."""
        on_change = subscription.mode == gnmi_pb2.ON_CHANGE
        if subscription.mode == gnmi_pb2.TARGET_DEFINED:
            on_change = not query.counts
        if on_change:
            heartbeat = subscription.heartbeat_interval
            self._on_change.append(OnChangePath(query, heartbeat, mono_ns + heartbeat))
            return
        interval = max(subscription.sample_interval or NS_PER_S, FASTEST_NS)
        self._sampled.append(SampledPath(query, interval, subscription.suppress_redundant, mono_ns + interval))

    @property
    def has_on_change(self) -> bool:
        return bool(self._on_change)

    def next_due_ns(self) -> int | None:
        """When the next sample or heartbeat is due; None when there is neither."""
        times = [one.due_ns for one in self._sampled] + [one.due_ns for one in self._on_change if one.heartbeat_ns]
        return min(times, default=None)

    def initial(self, snapshot: Snapshot, now_ns: int) -> Iterator[bytes]:
        """All values once: what a stream sends before its sync response."""
        self._seen = snapshot.number
        for query in [one.query for one in self._sampled] + [one.query for one in self._on_change]:
            yield from query.full(snapshot, now_ns)

    def samples_due(self, mono_ns: int) -> bool:
        return any(one.due_ns <= mono_ns for one in self._sampled)

    def skip_samples(self, mono_ns: int) -> None:
        """Leaves out the samples that are due."""
        for sampled in self._sampled:
            if sampled.due_ns <= mono_ns:
                sampled.due_ns = _after(sampled.due_ns, sampled.interval_ns, mono_ns)

    def due(self, snapshot: Snapshot, now_ns: int, mono_ns: int) -> Iterator[bytes]:
        """What to send now: changes since the last snapshot, and samples and heartbeats that are due."""
        is_new, self._seen = snapshot.number != self._seen, snapshot.number
        for path in self._on_change:
            if path.heartbeat_ns and path.due_ns <= mono_ns:
                path.due_ns = _after(path.due_ns, path.heartbeat_ns, mono_ns)
                yield from path.query.full(snapshot, now_ns)
            elif is_new:
                yield from path.query.changes(snapshot, now_ns)
        for sampled in self._sampled:
            if sampled.due_ns <= mono_ns:
                sampled.due_ns = _after(sampled.due_ns, sampled.interval_ns, mono_ns)
                send = sampled.query.changes if sampled.suppress else sampled.query.full
                yield from send(snapshot, now_ns)


def _after(due_ns: int, interval_ns: int, mono_ns: int) -> int:
    """The next multiple of the interval after ``mono_ns``: a late sample does not shift the ones after it."""
    return due_ns + interval_ns * ((mono_ns - due_ns) // interval_ns + 1)
