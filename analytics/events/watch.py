"""The events of one metric. Columns find what happens; only rows with an event cost Python."""

import hashlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from analytics.events.sources import Source
from analytics.snapshot.stateful import State
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.state.rates import VALUE
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from common.units import NS_PER_S
from telemetry.events import Event, EventKind, EventState
from telemetry.series import parse_series_key

MERGE_NS = 60 * NS_PER_S  # one that begins again so soon after its end is the same one
AGAIN_NS = 600 * NS_PER_S  # an open one is published again
BRIEF_NS = 3600 * NS_PER_S  # over which brief ones are summed
OPEN_MAX = 10_000  # of one metric; further ones are summed as if they were brief
BRIEF_MAX = 1000  # published in one tick; the others wait for the next
_SAME_PAUSE = 0.99  # share of a reading's growth from which on the newest pause is all of it
_MEMORY = (
    MemoryColumn("raw"),
    MemoryColumn("at_ns", dtype="i8"),
    MemoryColumn("brief"),  # growth that is summed
    MemoryColumn("times", dtype="i8"),  # readings with such growth
    MemoryColumn("since_ns", dtype="i8"),
    MemoryColumn("until_ns", dtype="i8"),
)
Ints = NDArray[np.int64]
_STORED = TypeAdapter(list[tuple[int, Event, int, int, int]])


@dataclass(slots=True)
class _Open:
    """event: as it is now; its end is what the newest reading that shows it allows. active_ns: of that reading.

    quiet_ns: of the first one after it that does not; 0: none yet. published_ns: when it was last given.
    """

    event: Event
    active_ns: int
    quiet_ns: int = 0
    published_ns: int = 0


@dataclass(slots=True)
class _Readings:
    """The new readings of some series, one a row: columns of the growth since the one before, and of both times."""

    sids: Ints
    rows: Ints
    before_ns: Ints
    at_ns: Ints
    step: NDArray[np.float64]


class Watch:
    """Updated in every whole tick."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self._memory = Memory(_MEMORY)
        self._open: dict[int, _Open] = {}
        self._known: tuple[int, Ints] = (-1, np.zeros(0, np.int64))

    def update(self, view: TickView) -> list[Event]:
        """What began, ended or went on for long in this tick, by series."""
        sids = self._sids(view.index)
        if not sids.size:
            return []
        found, active = self._read(view, sids)
        events = [*self._quiet(view, found, active), *self._active(view, found, active)]
        return [*events, *self._sums(view, sids)] if self.source.brief else events

    @property
    def _is_moment(self) -> bool:
        """Whether it is over when it is seen, as an XID is."""
        return self.source.well is None and not self.source.brief

    def keep(self, kept: Ints, at_ns: int) -> list[Event]:
        """Only these series are left, renumbered in the order given; the events that nobody can see the end of."""
        numbers = lookup(kept, np.array(list(self._open), np.int64))
        left = list(zip(self._open.values(), numbers.tolist(), strict=True))
        self._memory.keep(kept)
        self._open = {number: one for one, number in left if number >= 0}
        return [_ended(one, at_ns, at_ns) for one, number in left if number < 0]

    def state(self) -> State:
        opened = [
            (sid, asdict(one.event), one.active_ns, one.quiet_ns, one.published_ns) for sid, one in self._open.items()
        ]
        return State(opened, self._memory.state().arrays)

    def restore(self, state: State) -> None:
        self._memory.restore(state)
        stored = _STORED.validate_python(state.head)
        self._open = {sid: _Open(event, *times) for sid, event, *times in stored}

    def _sids(self, index: SeriesIndex) -> Ints:
        """Its series, without those of which another metric shows the same better."""
        version, sids = self._known
        if version != index.version:
            sids = index.select(self.source.metric)
            for metric in self.source.unless:
                better = _labels(index, index.select(metric), by_object=self.source.by_object)
                sids = sids[~np.isin(_labels(index, sids, by_object=self.source.by_object), better)]
            self._known = (index.version, sids)
        return sids

    def _read(self, view: TickView, sids: Ints) -> tuple[_Readings, NDArray[np.bool_]]:
        """The new readings, and which of them show an event."""
        series, memory, source = view.series, self._memory, self.source
        rows, at_ns, raw = memory.rows(sids), series["raw_ns"][sids], series["raw"][sids]
        new = np.flatnonzero(at_ns > memory["at_ns"][rows])
        sids, rows, at_ns, raw = sids[new], rows[new], at_ns[new], raw[new]
        before_ns, step = memory["at_ns"][rows], raw - memory["raw"][rows]
        memory["raw"][rows], memory["at_ns"][rows] = raw, at_ns
        known = before_ns > 0
        if source.well is not None:
            active = known & (raw < source.well) & (series["highest"][sids] >= source.well)
            return _Readings(sids, rows, before_ns, at_ns, np.zeros(step.size)), active
        if source.changes:
            return _Readings(sids, rows, before_ns, at_ns, np.zeros(step.size)), known & (step != 0.0) & (raw > 0)
        wrapped = (step < 0) & (series["status"][sids] == VALUE)
        step = np.where(wrapped, series["value"][sids] * series["span_s"][sids], step)
        grew = known & (step > 0)
        span_s = (at_ns - before_ns) / NS_PER_S
        active = grew & (step >= source.brief * span_s)
        if active.any() and len(self._open) >= OPEN_MAX:
            active &= np.isin(sids, np.fromiter(self._open, np.int64, len(self._open)))
        found = _Readings(sids, rows, before_ns, at_ns, step)
        if (brief := np.flatnonzero(grew & ~active)).size:
            self._add_brief(found, brief)
        return found, active

    def _add_brief(self, found: _Readings, brief: Ints) -> None:
        memory, rows = self._memory, found.rows[brief]
        first = memory["times"][rows] == 0
        memory["since_ns"][rows[first]] = found.before_ns[brief][first]
        memory["until_ns"][rows] = found.at_ns[brief]
        memory["brief"][rows] += found.step[brief]
        memory["times"][rows] += 1

    def _active(self, view: TickView, found: _Readings, active: NDArray[np.bool_]) -> Iterable[Event]:
        for row in np.flatnonzero(active).tolist():
            sid, before_ns, at_ns = int(found.sids[row]), int(found.before_ns[row]), int(found.at_ns[row])
            step = float(found.step[row])
            one = self._open.get(sid)
            if one is None:
                event = self._opened(view, sid, before_ns, at_ns, step)
                one = self._open[sid] = _Open(event, at_ns, published_ns=view.end_ns)
                yield event
            else:
                again = max(1, round(step)) if self._is_moment else int(one.quiet_ns > 0)
                event = replace(one.event, count=one.event.count + again, amount=one.event.amount + step)
            low_ns = at_ns if self.source.well is not None else max(before_ns, event.began_after_ns)
            high_ns = at_ns if self._is_moment else 0
            one.event = replace(event, ended_after_ns=low_ns, ended_by_ns=high_ns, observed_ns=at_ns)
            one.active_ns, one.quiet_ns = at_ns, 0
            self._refine_end(view, one, sid, step)

    def _opened(self, view: TickView, sid: int, before_ns: int, at_ns: int, step: float) -> Event:
        index, source = view.index, self.source
        labels = parse_series_key(index.keys[sid])[1]
        begin_ns = self._begin_ns(view, sid, step)
        after_ns, by_ns = (begin_ns, begin_ns) if before_ns < begin_ns <= at_ns else (before_ns, at_ns)
        detail = labels.get("xid") or labels.get("peer", "")
        if source.kind is EventKind.XID:
            detail = f"XID {detail or round(float(view.series['raw'][sid]))}"
        return Event(
            _id(source.kind, by_ns, index.keys[sid], index.targets.names[index.columns["target"][sid]]),
            *(source.kind, EventState.OPEN, index.object_ref(int(index.columns["object"][sid])), source.metric),
            target=index.targets.names[index.columns["target"][sid]],
            observed_ns=at_ns,
            began_after_ns=after_ns,
            began_by_ns=by_ns,
            count=max(1, round(step)) if self._is_moment else 1,
            amount=step,
            unit=source.unit,
            priority=labels.get("priority", ""),
            queue=labels.get("queue", ""),
            direction=labels.get("direction", ""),
            detail=detail,
        )

    def _begin_ns(self, view: TickView, sid: int, step: float) -> int:
        """When it began, where the source says so; 0 where it does not."""
        if not self.source.begins:
            return 0
        begins_s = self._beside(view, sid, self.source.begins)
        return round(begins_s * NS_PER_S) if begins_s > 0 and self._is_newest_alone(view, sid, step) else 0

    def _is_newest_alone(self, view: TickView, sid: int, step: float) -> bool:
        """Whether all of a reading's growth is that of the newest pause, whose times are known."""
        return not self.source.lasts or self._beside(view, sid, self.source.lasts) >= _SAME_PAUSE * step

    def _refine_end(self, view: TickView, one: _Open, sid: int, step: float) -> None:
        """The exact end, if nothing follows."""
        if not self.source.lasts or not (begin_ns := self._begin_ns(view, sid, step)):
            return
        end_ns = begin_ns + round(self._beside(view, sid, self.source.lasts) * NS_PER_S)
        if one.event.ended_after_ns < end_ns <= one.active_ns:
            one.event = replace(one.event, ended_after_ns=end_ns, ended_by_ns=end_ns)

    def _beside(self, view: TickView, sid: int, metric: str) -> float:
        """The newest value of another metric of the same object and labels, NaN without one."""
        sids = view.data.sids(metric)
        same = sids[_labels(view.index, sids) == _labels(view.index, np.array([sid]))][:1]
        return float(view.series["raw"][same[0]]) if same.size else np.nan

    def _quiet(self, view: TickView, found: _Readings, active: NDArray[np.bool_]) -> Iterable[Event]:
        """Ends those whose series show nothing for ``MERGE_NS``."""
        for sid, one in list(self._open.items()):
            row = int(np.searchsorted(found.sids, sid))
            is_new = row < found.sids.size and found.sids[row] == sid
            if is_new and not active[row]:
                one.quiet_ns = one.quiet_ns or int(found.at_ns[row])
            if one.quiet_ns and is_new and int(found.at_ns[row]) - one.active_ns >= MERGE_NS:
                del self._open[sid]
                yield _ended(one, one.quiet_ns, int(found.at_ns[row]))
            elif view.end_ns - one.published_ns >= AGAIN_NS:
                one.published_ns = view.end_ns
                yield _still_open(one.event)

    def _sums(self, view: TickView, sids: Ints) -> Iterable[Event]:
        """What was brief in the hour that is over, of each series."""
        memory, rows = self._memory, self._memory.rows(sids)
        due = (memory["times"][rows] > 0) & (view.end_ns - memory["since_ns"][rows] >= BRIEF_NS)
        for at in np.flatnonzero(due)[:BRIEF_MAX].tolist():
            row, sid = int(rows[at]), int(sids[at])
            since_ns, until_ns = int(memory["since_ns"][row]), int(memory["until_ns"][row])
            event = self._opened(view, sid, since_ns, until_ns, float(memory["brief"][row]))
            kind = EventKind.PFC_BRIEF_PAUSES if self.source.kind is EventKind.PFC_PAUSE else self.source.kind
            target = event.target
            yield replace(
                event,
                id=_id(kind, until_ns, view.index.keys[sid], f"{target}/brief"),
                kind=kind,
                state=EventState.ENDED,
                began_after_ns=since_ns,
                began_by_ns=until_ns,
                ended_after_ns=since_ns,
                ended_by_ns=until_ns,
                count=int(memory["times"][row]),
            )
            memory["times"][row], memory["brief"][row] = 0, 0.0


def _labels(index: SeriesIndex, sids: Ints, *, by_object: bool = False) -> Ints:
    """int64[k]: a number for the object and the other labels of each series, or for its object alone."""
    objects = index.columns["object"][sids]
    return objects if by_object else objects * len(index.variants) + index.columns["variant"][sids]


def _still_open(event: Event) -> Event:
    return replace(event, ended_after_ns=0, ended_by_ns=0)


def _ended(one: _Open, quiet_ns: int, at_ns: int) -> Event:
    """quiet_ns: from when on it is over at the latest, where its end is not known better."""
    by_ns = one.event.ended_by_ns or quiet_ns
    return replace(one.event, state=EventState.ENDED, ended_by_ns=by_ns, observed_ns=at_ns)


def _id(kind: EventKind, by_ns: int, key: str, target: str) -> str:
    digest = hashlib.blake2b(f"{target} {key}".encode(), digest_size=8).hexdigest()
    return f"{kind}/{by_ns}/{digest}"
