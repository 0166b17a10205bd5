"""Batches into event-time ticks: bounded lateness, no duplicates, and every sample counted.

Ticks are light ones here: the engine knows which of them completes a whole one.

A batch belongs to the tick of its collection time (the collector's clock), so a device with a wrong clock disturbs
nobody else. The watermark is the newest collection time; a tick waits ``holdback`` behind it for late batches. What
comes later, from a collection that took long, counts in the tick that was open then. Why:
docs/decisions/2026-11-23-holdback.md

Nor does a collector with a wrong clock: where the bus says when it took a batch, the watermark never passes that
time. Why: docs/decisions/2026-11-22-wrong-clocks.md
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

import orjson

from analytics.config import LIGHT_TICKS, EngineConfig
from analytics.snapshot.stateful import State
from analytics.window.open_batches import pack_batches, unpack_batches
from telemetry.samples import SampleBatch

# Ticks whose collections are remembered by name. What is delivered again later than that counts as late.
_REMEMBERED_TICKS = 240 * LIGHT_TICKS
_QUIET_TICKS = 24 * LIGHT_TICKS  # several times what it takes to call a target silent
# Clocks of hosts that are synchronised differ by milliseconds. What is further off is wrong.
AHEAD_NS_MAX = 60 * 10**9
# Time has gone back when this much of it passed before the watermark, and nothing after it.
_BACK_NS_MIN, _BACK_INTERVALS_MIN = 60 * 10**9, 6


_Newest = tuple[int, int, int]  # tick, epoch and sequence number of a collection


class DropReason(StrEnum):
    """Why a sample was not processed."""

    LATE = "late"  # its tick was closed an interval ago, or its target has been heard of since
    INGEST_CLOCK_AHEAD = "ingest_clock_ahead"  # collected over a minute after the bus took it
    TIME_WENT_BACK = "time_went_back"  # held for a time that was wrong
    CLOCK_AHEAD = "clock_ahead"  # its event time is over five minutes after its collection
    CLOCK_BEHIND = "clock_behind"  # … over an hour before its collection
    OUT_OF_ORDER = "out_of_order"  # not newer than the newest sample of its series
    NOT_FINITE = "not_finite"  # infinite, or beyond 1e30
    TOO_MANY_SERIES = "too_many_series"
    STALE_OWNER = "stale_owner"  # published by an ingest process that had been replaced
    CRASHED = "crashed"  # the process ended twice in their tick


@dataclass
class SampleCounts:
    """samples_in = processed + deduplicated + sum(dropped) + held."""

    samples_in: int = 0
    processed: int = 0
    deduplicated: int = 0
    held: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def drop(self, reason: DropReason, samples: int) -> None:
        if samples:
            # As plain text: JSON keys, here and in snapshots, are no enumerations.
            self.dropped[reason.value] = self.dropped.get(reason.value, 0) + samples


class TickWindow:
    """Holds batches until their tick closes."""

    def __init__(self, config: EngineConfig) -> None:
        self._tick_ns, self._holdback_ns = config.light_tick_ns, config.holdback_ns
        self._late_ns_max = config.holdback_ns + config.interval_ns
        self._back_ns = max(_BACK_NS_MIN, _BACK_INTERVALS_MIN * config.interval_ns)
        self.counts = SampleCounts()
        self.ahead: dict[str, int] = {}
        self._begin()

    def _begin(self) -> None:
        self.watermark_ns = 0
        self._held: dict[int, list[SampleBatch]] = {}
        self._names: dict[int, set[tuple[str, int, int]]] = {}
        self._names_json: dict[int, orjson.Fragment] = {}
        self._newest: dict[str, _Newest] = {}  # of each target among these names
        self._next_tick: int | None = None  # the first one that is open; None before the first batch
        self._last_busy: int | None = None
        # The first and last collection time far before the watermark since something was collected after it
        self._before: tuple[int, int] | None = None

    def add(self, batch: SampleBatch, appended_ns: int | None = None) -> None:
        """appended_ns: when the bus took it; None where that says nothing about event time."""
        self.counts.samples_in += len(batch)
        collection = batch.collection
        at_ns = collection.collected_ns if appended_ns is None else min(collection.collected_ns, appended_ns)
        if collection.collected_ns - at_ns > AHEAD_NS_MAX:
            self.ahead[batch.table.target] = collection.collected_ns - at_ns
            self.counts.drop(DropReason.INGEST_CLOCK_AHEAD, len(batch))
            return
        tick = collection.collected_ns // self._tick_ns
        name = (batch.table.target, collection.epoch_ns, collection.seq)
        names = self._names.setdefault(tick, set())
        if name in names:
            self.counts.deduplicated += len(batch)
            return
        counts_in = self._counts_in(batch, appended_ns)
        if counts_in is None:
            if not names:
                del self._names[tick]
            self.counts.drop(DropReason.LATE, len(batch))
            self._note_before(at_ns)
            return
        if tick >= self._first_open():
            self._before = None
        self._names_json.pop(tick, None)
        names.add(name)
        self._note_newest(tick, *name)
        self.counts.held += len(batch)
        self._held.setdefault(counts_in, []).append(batch)
        self.watermark_ns = max(self.watermark_ns, at_ns)

    def _counts_in(self, batch: SampleBatch, appended_ns: int | None) -> int | None:
        """The tick of a batch: that of its collection; where it took longer than the holdback, the first that was open
        when the bus had it. None where that is closed too and an interval has passed, which is as long as a collection
        may last, or where its target has been heard of since, as its history must stay in order."""
        collection, open_from = batch.collection, self._first_open()
        tick = collection.collected_ns // self._tick_ns
        if appended_ns is not None and appended_ns - collection.collected_ns <= self._late_ns_max:
            tick = max(tick, (appended_ns - self._holdback_ns) // self._tick_ns)
        if tick >= open_from:
            return tick
        too_late = collection.collected_ns < self.watermark_ns - self._late_ns_max
        return None if too_late or self._is_overtaken(batch) else open_from

    def _is_overtaken(self, batch: SampleBatch) -> bool:
        collection, newest = batch.collection, self._newest.get(batch.table.target)
        tick = collection.collected_ns // self._tick_ns
        return newest is not None and newest > (tick, collection.epoch_ns, collection.seq)

    def _note_newest(self, tick: int, target: str, epoch_ns: int, seq: int) -> None:
        one = (tick, epoch_ns, seq)
        self._newest[target] = max(self._newest.get(target, one), one)

    def _note_before(self, at_ns: int) -> None:
        if at_ns < self.watermark_ns - self._back_ns:
            first_ns, last_ns = self._before or (at_ns, at_ns)
            self._before = min(first_ns, at_ns), max(last_ns, at_ns)

    @property
    def went_back(self) -> bool:
        """Whether all clocks have gone back: time passes before the watermark, for as long as no gap explains."""
        return self._before is not None and self._before[1] - self._before[0] >= self._back_ns

    def begin_again(self) -> None:
        """The next batch gives the time. What is held belongs to the time that was wrong; counts go on."""
        self.counts.drop(DropReason.TIME_WENT_BACK, self.counts.held)
        self.counts.held = 0
        self._begin()

    def _first_open(self) -> int:
        by_time = (self.watermark_ns - self._holdback_ns) // self._tick_ns
        return by_time if self._next_tick is None else max(by_time, self._next_tick)

    def pop_closed(self) -> Iterable[tuple[int, list[SampleBatch]]]:
        """The ticks that are complete now, oldest first: (end in event time, batches in canonical order).

        Empty ticks come too, as time passes for what is silent; of a long silence only the first few.
        """
        open_from = self._first_open()
        if self._next_tick is None:
            if not self._held:
                return
            self._next_tick = min(open_from, *self._held)
        while self._next_tick < open_from:
            tick = self._next_tick
            batches = self._held.pop(tick, [])
            if batches:
                self._last_busy = tick
            elif self._last_busy is None or tick - self._last_busy > _QUIET_TICKS:
                self._next_tick = min(open_from, *self._held, open_from)
                continue
            self._next_tick = tick + 1
            self.counts.held -= sum(map(len, batches))
            self._forget_names(tick)
            yield (tick + 1) * self._tick_ns, sorted(batches, key=_canonical)

    def _forget_names(self, tick: int) -> None:
        for old in [t for t in self._names if t <= tick - _REMEMBERED_TICKS]:
            for target, *_ in self._names.pop(old):
                if target in self._newest and self._newest[target][0] <= old:
                    del self._newest[target]
            self._names_json.pop(old, None)

    def _names_of(self, tick: int) -> orjson.Fragment:
        """As JSON. A tick that is closed takes no more names: it is written once, and not for every snapshot again."""
        known = self._names_json.get(tick)
        if known is None:
            known = orjson.Fragment(orjson.dumps(sorted(self._names[tick])))
            if tick < self._first_open():
                self._names_json[tick] = known
        return known

    def state(self) -> State:
        counts = {**vars(self.counts), "dropped": dict(self.counts.dropped)}
        marks = {
            "tick_ns": self._tick_ns,
            "watermark_ns": self.watermark_ns,
            "next_tick": self._next_tick,
            "last_busy": self._last_busy,
            "before": self._before,
        }
        names = {str(tick): self._names_of(tick) for tick in sorted(self._names)}
        held = [(tick, one) for tick, some in sorted(self._held.items()) for one in sorted(some, key=_canonical)]
        held_head, arrays = pack_batches([batch for _, batch in held])
        held_head["ticks"] = [tick for tick, _ in held]
        return State({**marks, "names": names, "counts": counts, "held": held_head}, arrays)

    def restore(self, state: State) -> None:
        """Also of a window with other ticks: time goes on in the first of ours that was not closed as a whole."""
        head, now = state.head, self._tick_ns
        tick_ns = head["tick_ns"]
        self.watermark_ns = head["watermark_ns"]
        self._next_tick = None if head["next_tick"] is None else head["next_tick"] * tick_ns // now
        self._last_busy = None if head["last_busy"] is None else head["last_busy"] * tick_ns // now
        self._before = tuple(head["before"]) if head["before"] else None
        self._names, self._names_json, self._newest = {}, {}, {}
        for number, names in head["names"].items():
            first_ns = int(number) * tick_ns
            for tick in range(first_ns // now, (first_ns + tick_ns - 1) // now + 1):
                self._names.setdefault(tick, set()).update((t, e, s) for t, e, s in names)
                for name in names:
                    self._note_newest(tick, *name)
        self.counts = SampleCounts(**head["counts"])
        self._held = {}
        for number, batch in zip(head["held"]["ticks"], unpack_batches(State(head["held"], state.arrays)), strict=True):
            tick = max(batch.collection.collected_ns, number * tick_ns) // now
            self._held.setdefault(max(tick, self._next_tick or 0), []).append(batch)


def from_format_1(state: State) -> State:
    """Of state version 16 before the ticks of held batches were written: each is in that of its collection."""
    head = state.head
    ticks = [collected_ns // head["tick_ns"] for *_, collected_ns, _, _ in head["held"]["batches"]]
    return State({**head, "held": {**head["held"], "ticks": ticks}}, state.arrays)


def _canonical(batch: SampleBatch) -> tuple[str, str, int, int, int]:
    collection = batch.collection
    return batch.table.device, batch.table.target, collection.collected_ns, collection.epoch_ns, collection.seq
