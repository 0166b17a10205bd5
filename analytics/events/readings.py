"""The new readings of a metric in columns: which show an event, and what the source itself says of its time."""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from analytics.events.sources import Source
from analytics.state.lookup import lookup
from analytics.state.memory import Memory
from analytics.state.rates import VALUE
from analytics.state.series_index import SeriesIndex
from analytics.view.tick_view import TickView
from common.units import NS_PER_S

_SAME_PAUSE = 0.99  # share of a reading's growth from which on the newest pause is all of it
_GROWTH_MAX = 1e15  # of one reading: sums of hostile values stay finite, and counts below 2^63
_TIME_MAX_S = 4e9  # twice that in nanoseconds still is an int64
_LATELY_NS = 600 * NS_PER_S  # what is older is history, which is given again wherever nothing is remembered
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NONE = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Selected:
    """The series of a source, ascending, as of a version of the index. begins, lasts, states: those beside them, or
    -1."""

    version: int
    sids: Ints
    begins: Ints
    lasts: Ints
    states: Ints


NOTHING = Selected(-1, NONE, NONE, NONE, NONE)  # before the index was first read


@dataclass(slots=True)
class Readings:
    """One a row. rows: in the memory. before_ns: of the reading before. step: growth of a counter since then."""

    sids: Ints
    rows: Ints
    before_ns: Ints
    at_ns: Ints
    raw: Floats
    step: Floats

    def only(self, chosen: Ints | NDArray[np.bool_] | slice) -> "Readings":
        return Readings(*(getattr(self, each.name)[chosen] for each in fields(self)))


def select(view: TickView, source: Source) -> Selected:
    """Its series, without those of which another metric shows the same better."""
    index, sids = view.index, view.data.sids(source.metric)
    for metric in source.unless:
        better = _labels(index, view.data.sids(metric), by_object=source.by_object)
        sids = sids[~np.isin(_labels(index, sids, by_object=source.by_object), better)]
    beside = [_beside(view, sids, metric) for metric in (source.begins, source.lasts, source.state)]
    return Selected(index.version, sids, *beside)


def remember_first(view: TickView, sids: Ints, memory: Memory) -> None:
    """The readings of series of which none is remembered; where there are none, that costs next to nothing."""
    memory.rows(sids)  # which gives new ones a row
    unknown = np.flatnonzero(memory["at_ns"] == 0)
    of = memory["sid"][unknown]
    memory["at_ns"][unknown] = np.maximum(0, view.series["raw_ns"][of])
    memory["raw"][unknown] = view.series["raw"][of]


def read(view: TickView, source: Source, selected: Selected, memory: Memory) -> tuple[Readings, Readings]:
    """The new readings that show an event, and those with growth that is too small for one; all are remembered."""
    sids = selected.sids
    rows, at_ns, raw = memory.rows(sids), view.series["raw_ns"][sids], view.series["raw"][sids]
    before_ns, before = memory["at_ns"][rows], memory["raw"][rows]
    is_new = at_ns > before_ns
    memory["raw"][rows], memory["at_ns"][rows] = np.where(is_new, raw, before), np.where(is_new, at_ns, before_ns)
    if source.since:
        shown = raw < before
    elif source.well is None:
        shown = before != raw
    else:  # where it was not well before it was first read, nobody saw it begin
        shown = (raw < source.well) & (~(before < source.well) | (memory["is_open"][rows] > 0))
    known = before_ns > 0
    if source.first:
        begins_ns = _said(_raw(view, selected.begins))
        known |= (begins_ns <= at_ns) & (at_ns - begins_ns <= _LATELY_NS)
    at = np.flatnonzero(is_new & known & shown)
    found = Readings(sids[at], rows[at], before_ns[at], at_ns[at], raw[at], np.zeros(at.size))
    if source.outage:
        # A source may count an outage one reading later than it shows it.
        unseen = _down_ns(view, source, selected, memory) < before_ns - (at_ns - before_ns)
        found.step = np.floor(_growth(view, found, before[at]) / source.outage)
        return found.only((found.step >= 1) & unseen[at]), found.only(NONE)
    if source.since:
        return found, found.only(NONE)
    if source.changes:
        found = found.only((found.raw > 0) & (np.abs(found.raw - before[at]) > source.steps))
    elif source.well is None:
        found.step = _growth(view, found, before[at])
        much = found.step >= source.brief * ((found.at_ns - found.before_ns) / NS_PER_S)
        return found.only((found.step > 0) & much), found.only((found.step > 0) & ~much)
    return found, found.only(NONE)


def exact_times(view: TickView, source: Source, selected: Selected, found: Readings) -> tuple[Ints, Ints]:
    """When each began and ended, where the source says so; 0 where it does not.

    It does of the newest pause alone, so where that is all of a reading's growth.
    """
    if source.since:
        return found.at_ns - _ns(np.minimum(found.raw, _TIME_MAX_S)), np.zeros(found.sids.size, np.int64)
    if not source.begins:
        return np.zeros(found.sids.size, np.int64), np.zeros(found.sids.size, np.int64)
    at = np.searchsorted(selected.sids, found.sids)
    begins_s, lasts_s = _raw(view, selected.begins[at]), _raw(view, selected.lasts[at])
    is_said = _said(begins_s) > 0
    has_end = is_said & (lasts_s >= _SAME_PAUSE * found.step) & (lasts_s < _TIME_MAX_S)
    is_said = has_end if source.lasts else is_said
    begins_ns = np.where(is_said, _said(begins_s), 0)
    return begins_ns, np.where(has_end, begins_ns + _ns(np.where(has_end, lasts_s, 0.0)), 0)


def _down_ns(view: TickView, source: Source, selected: Selected, memory: Memory) -> Ints:
    """int64[k]: when a reading last showed the link of each series down; 0 where none did."""
    rows, down_ns = memory.rows(selected.sids), memory["down_ns"]
    down = np.flatnonzero(_raw(view, selected.states) < source.shows_up)
    down_ns[rows[down]] = view.series["raw_ns"][selected.states[down]]
    return np.asarray(down_ns[rows], np.int64)


def _growth(view: TickView, found: Readings, before: Floats) -> Floats:
    """Below zero after a reset."""
    step: Floats = np.minimum(found.raw, _GROWTH_MAX) - np.minimum(before, _GROWTH_MAX)
    wrapped = (step < 0) & (view.series["status"][found.sids] == VALUE)
    if wrapped.any():
        step = np.where(wrapped, view.series["value"][found.sids] * view.series["span_s"][found.sids], step)
    return np.asarray(np.minimum(step, _GROWTH_MAX), np.float64)


def _beside(view: TickView, sids: Ints, metric: str) -> Ints:
    """The series of another metric of the same object and labels as each."""
    others = view.data.sids(metric)
    at = lookup(_labels(view.index, others), _labels(view.index, sids))
    return np.where(at >= 0, others[at], -1) if others.size else np.full(sids.size, -1, np.int64)


def _raw(view: TickView, sids: Ints) -> Floats:
    """The newest values, NaN of no series."""
    return np.asarray(np.where(sids >= 0, view.series["raw"][sids], np.nan), np.float64)


def _said(begins_s: Floats) -> Ints:
    """In nanoseconds; 0 of what is no time."""
    return _ns(np.where((begins_s > 0) & (begins_s < _TIME_MAX_S), begins_s, 0.0))


def _ns(seconds: Floats) -> Ints:
    return np.asarray(np.rint(seconds * NS_PER_S), np.int64)


def _labels(index: SeriesIndex, sids: Ints, *, by_object: bool = False) -> Ints:
    """int64[k]: a number for the object and the other labels of each series, or for its object alone."""
    objects = index.columns["object"][sids]
    return objects if by_object else objects * len(index.variants) + index.columns["variant"][sids]
