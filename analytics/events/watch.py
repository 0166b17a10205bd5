"""The events of one metric, in columns: only what begins, ends or is published again costs Python."""

from collections import Counter
from dataclasses import asdict, replace
from enum import StrEnum

import numpy as np
from pydantic import TypeAdapter

from analytics.events.describe import named, opened, summed
from analytics.events.readings import NOTHING, Ints, Readings, exact_times, read, remember_first, select
from analytics.events.sources import Source
from analytics.snapshot.stateful import State
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from common.units import NS_PER_S
from telemetry.events import Event, EventState

MERGE_NS = 60 * NS_PER_S  # one that begins again so soon after its end is the same one
AGAIN_NS = 600 * NS_PER_S  # an open one is published again
BRIEF_NS = 3600 * NS_PER_S  # over which brief ones are summed
OPEN_MAX = 10_000  # of one metric; further pauses are summed as if they were brief, other events are dropped
BRIEF_MAX = 1000  # published in one tick; the others wait for the next
FORGOTTEN_MAX = 10_000  # sums of one metric that are published when their series are forgotten
_MEMORY = (
    MemoryColumn("raw"),
    MemoryColumn("at_ns", dtype="i8"),
    MemoryColumn("brief"),  # growth that is summed
    MemoryColumn("times", dtype="i8"),  # readings with such growth
    MemoryColumn("since_ns", dtype="i8"),
    MemoryColumn("until_ns", dtype="i8"),
    # Of an open event. active_ns: of the newest reading that shows it, low_ns, high_ns: bounds of the end by that one,
    # quiet_ns: of the first reading after it, 0: none yet.
    MemoryColumn("is_open", dtype="i8"),
    MemoryColumn("began_after_ns", dtype="i8"),
    MemoryColumn("amount"),
    MemoryColumn("count", dtype="i8"),
    MemoryColumn("low_ns", dtype="i8"),
    MemoryColumn("high_ns", dtype="i8"),
    MemoryColumn("active_ns", dtype="i8"),
    MemoryColumn("quiet_ns", dtype="i8"),
    MemoryColumn("published_ns", dtype="i8"),
)
_OF_LINKS = (MemoryColumn("down_ns", dtype="i8"),)  # when a reading last showed the link of a count down
_STORED = TypeAdapter(list[tuple[int, Event]])


class EventDrop(StrEnum):
    """Why an event is not published; a label of our own metrics."""

    TOO_MANY_OPEN = "too_many_open"
    TOO_MANY_FORGOTTEN = "too_many_forgotten"


class Watch:
    """Updated in every whole tick, and shown each light one. dropped: events that were not published."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.dropped: Counter[EventDrop] = Counter()
        self._memory = Memory((*_MEMORY, *_OF_LINKS) if source.outage else _MEMORY)
        self._open: dict[int, Event] = {}  # as each began; what changes is in the memory
        self._selected = NOTHING

    def notice(self, view: TickView) -> list[Event]:
        """Remembers the first readings of series that are new: those may show an event before the tick is whole.

        A series whose first reading is an event has none before it to compare with. Returns what ends.
        """
        if self.source.first:
            return []
        events = self._select(view)
        if self._selected.sids.size:
            remember_first(view, self._selected.sids, self._memory)
        return events

    def update(self, view: TickView) -> list[Event]:
        """What began, ended or went on for long in this tick, by series."""
        events = self._select(view)
        if not self._selected.sids.size:
            return events
        found, brief = read(view, self.source, self._selected, self._memory)
        self._add_brief(brief)
        is_open = self._memory["is_open"][found.rows] > 0
        self._extend(view, found.only(is_open))
        events += self._quiet(view)
        events += self._begin(view, found.only(~is_open))
        return events + self._sums(view) if self.source.brief else events

    def end(self, index: SeriesIndex, sids: Ints, at_ns: int) -> list[Event]:
        """What is known of these series, of which nothing more is seen: open events, and sums of less than an hour."""
        memory = self._memory
        rows = lookup(memory["sid"], sids)
        rows = rows[rows >= 0]
        events = [self._end(row, at_ns, at_ns) for row in rows[memory["is_open"][rows] > 0].tolist()]
        waiting = rows[memory["times"][rows] > 0]
        if (more := waiting[FORGOTTEN_MAX:]).size:
            self.dropped[EventDrop.TOO_MANY_FORGOTTEN] += more.size
            memory["times"][more], memory["brief"][more] = 0, 0.0
        return [*events, *(self._sum(index, row) for row in waiting[:FORGOTTEN_MAX].tolist())]

    def keep(self, kept: Ints) -> None:
        """Only these series are left, renumbered in the order given; ``end`` was called for the others."""
        numbers = lookup(kept, np.array(list(self._open), np.int64)).tolist()
        self._memory.keep(kept)
        self._open = dict(zip(numbers, self._open.values(), strict=True))
        self._selected = NOTHING

    def state(self) -> State:
        return State([(sid, asdict(event)) for sid, event in self._open.items()], self._memory.state().arrays)

    def restore(self, state: State) -> None:
        self._memory.restore(state)
        self._open = dict(_STORED.validate_python(state.head))

    @property
    def _is_moment(self) -> bool:
        """Whether it is over when it is seen, as an XID is."""
        return self.source.well is None and not self.source.brief

    def _select(self, view: TickView) -> list[Event]:
        """What ends as another metric shows the same better from now on."""
        if self._selected.version == view.index.version:
            return []
        self._selected = select(view, self.source)
        if not self.source.unless or not len(self._memory):
            return []
        return self.end(view.index, np.setdiff1d(self._memory["sid"], self._selected.sids), view.end_ns)

    def _add_brief(self, found: Readings) -> None:
        if not found.sids.size:
            return
        memory, rows = self._memory, found.rows
        first = memory["times"][rows] == 0
        memory["since_ns"][rows[first]] = found.before_ns[first]
        memory["until_ns"][rows] = found.at_ns
        memory["brief"][rows] += found.step
        memory["times"][rows] += 1

    def _begin(self, view: TickView, found: Readings) -> list[Event]:
        """Opens an event for each of these readings while there is room."""
        found = self._with_room(found)
        if not found.sids.size:
            return []
        memory, rows = self._memory, found.rows
        begins_ns = exact_times(view, self.source, self._selected, found)[0]
        exact = (found.before_ns < begins_ns) & (begins_ns <= found.at_ns)
        after_ns, by_ns = np.where(exact, begins_ns, found.before_ns), np.where(exact, begins_ns, found.at_ns)
        for sid, *began_ns, raw in zip(
            *(each.tolist() for each in (found.sids, after_ns, by_ns, found.raw)), strict=True
        ):
            event = opened(view.index, self.source, sid, (began_ns[0], began_ns[1]), raw)
            self._open[sid] = named(event, view.topology)
        memory["is_open"][rows], memory["began_after_ns"][rows], memory["published_ns"][rows] = 1, after_ns, view.end_ns
        memory["amount"][rows], memory["count"][rows], memory["quiet_ns"][rows] = 0.0, int(not self._is_moment), 0
        self._extend(view, found)
        return [self._newest(row) for row in rows.tolist()]

    def _with_room(self, found: Readings) -> Readings:
        room = max(0, OPEN_MAX - len(self._open))
        more = found.only(slice(room, None))
        if self.source.brief:
            self._add_brief(more)
        elif more.sids.size:
            self.dropped[EventDrop.TOO_MANY_OPEN] += more.sids.size
        return found.only(slice(room))

    def _extend(self, view: TickView, found: Readings) -> None:
        """Adds these readings to the open events of their series."""
        if not found.sids.size:
            return
        memory, rows, at_ns = self._memory, found.rows, found.at_ns
        low_ns = np.maximum(found.before_ns, memory["began_after_ns"][rows]) if self.source.well is None else at_ns
        high_ns = at_ns if self._is_moment else np.zeros_like(at_ns)
        ends_ns = exact_times(view, self.source, self._selected, found)[1]
        exact = (low_ns < ends_ns) & (ends_ns <= at_ns)
        memory["low_ns"][rows], memory["high_ns"][rows] = (
            np.where(exact, ends_ns, low_ns),
            np.where(exact, ends_ns, high_ns),
        )
        again = np.maximum(1, np.rint(found.step)) if self._is_moment else memory["quiet_ns"][rows] > 0
        memory["count"][rows] += again.astype(np.int64)
        memory["amount"][rows] += found.step
        memory["active_ns"][rows], memory["quiet_ns"][rows] = at_ns, 0

    def _quiet(self, view: TickView) -> list[Event]:
        """Ends those whose series show nothing for ``MERGE_NS``, and gives what has gone on for long again."""
        if not self._open:
            return []
        memory = self._memory
        rows = lookup(memory["sid"], np.fromiter(self._open, np.int64, len(self._open)))
        at_ns, active_ns, quiet_ns = memory["at_ns"][rows], memory["active_ns"][rows], memory["quiet_ns"][rows]
        memory["quiet_ns"][rows] = np.where((quiet_ns == 0) & (at_ns > active_ns), at_ns, quiet_ns)
        ended = at_ns - active_ns >= MERGE_NS
        again = ~ended & (view.end_ns - memory["published_ns"][rows] >= AGAIN_NS)
        memory["published_ns"][rows[again]] = view.end_ns
        events = []
        for at in np.flatnonzero(ended | again).tolist():
            row = int(rows[at])
            events.append(
                self._end(row, int(memory["quiet_ns"][row]), int(at_ns[at])) if ended[at] else self._newest(row)
            )
        return events

    def _newest(self, row: int) -> Event:
        """An open event as of the newest reading that shows it."""
        memory = self._memory
        return replace(
            self._open[int(memory["sid"][row])],
            observed_ns=int(memory["active_ns"][row]),
            count=int(memory["count"][row]),
            amount=float(memory["amount"][row]),
        )

    def _end(self, row: int, quiet_ns: int, at_ns: int) -> Event:
        """quiet_ns: from when on it is over at the latest, where its end is not known better."""
        memory, event = self._memory, self._newest(row)
        memory["is_open"][row] = 0
        del self._open[int(memory["sid"][row])]
        low_ns, high_ns = int(memory["low_ns"][row]), int(memory["high_ns"][row])
        return replace(
            event,
            state=EventState.ENDED,
            observed_ns=at_ns,
            ended_after_ns=low_ns,
            ended_by_ns=high_ns or int(memory["quiet_ns"][row]) or quiet_ns,
        )

    def _sums(self, view: TickView) -> list[Event]:
        """What was brief in the hour that is over, of each series."""
        memory = self._memory
        due = np.flatnonzero((memory["times"] > 0) & (memory["since_ns"] <= view.end_ns - BRIEF_NS))
        return [self._sum(view.index, row) for row in due[:BRIEF_MAX].tolist()]

    def _sum(self, index: SeriesIndex, row: int) -> Event:
        memory = self._memory
        times_ns = int(memory["since_ns"][row]), int(memory["until_ns"][row])
        event = summed(index, self.source, int(memory["sid"][row]), times_ns)
        event = replace(event, count=int(memory["times"][row]), amount=float(memory["brief"][row]))
        memory["times"][row], memory["brief"][row] = 0, 0.0
        return event
