"""All events of the cluster, as they are seen in samples."""

from collections import Counter
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analytics.events.sources import SOURCES
from analytics.events.watch import EventDrop, Watch
from analytics.snapshot.stateful import State, joined, restore_joined
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from telemetry.events import Event


class EventLog:
    """Updated in every whole tick; ``pop_due`` returns what is new since then, in the order of event time.

    A light tick is only noticed: what it shows first is what the whole one compares with.
    """

    def __init__(self) -> None:
        self._watches: Mapping[str, Watch] = _watches()
        self._due: list[Event] = []
        self._newest_ns = 0

    def notice(self, view: TickView) -> None:
        for watch in self._watches.values():
            self._due += watch.notice(view)

    def update(self, view: TickView) -> None:
        self._newest_ns = view.end_ns
        for watch in self._watches.values():
            self._due += watch.update(view)

    def end(self, index: SeriesIndex, sids: NDArray[np.int64]) -> None:
        """These series are going to be forgotten: what is known of them is due."""
        for watch in self._watches.values():
            self._due += watch.end(index, sids, self._newest_ns)

    def keep(self, sids: NDArray[np.int64]) -> None:
        """Only these series are left, which have been renumbered in the order given."""
        for watch in self._watches.values():
            watch.keep(sids)

    def pop_due(self) -> list[Event]:
        due, self._due = self._due, []
        return due

    def pop_dropped(self) -> Counter[EventDrop]:
        """Events that are not published, since the last call."""
        dropped: Counter[EventDrop] = Counter()
        for watch in self._watches.values():
            dropped.update(watch.dropped)
            watch.dropped.clear()
        return dropped

    def state(self) -> State:
        """Without what is due: that is popped before a snapshot."""
        state = joined(self._watches)
        return State({"newest_ns": self._newest_ns, "watches": state.head}, state.arrays)

    def restore(self, state: State) -> None:
        self._newest_ns = state.head["newest_ns"]
        restore_joined(self._watches, State(state.head["watches"], state.arrays))


def from_fewer_metrics(state: State) -> State:
    """Of before the metrics of today were watched: nothing is known of the others yet."""
    head = state.head
    new = joined({name: watch for name, watch in _watches().items() if name not in head["watches"]})
    return State({**head, "watches": {**head["watches"], **new.head}}, {**state.arrays, **new.arrays})


def _watches() -> dict[str, Watch]:
    """By metric."""
    return {source.metric: Watch(source) for source in SOURCES}
