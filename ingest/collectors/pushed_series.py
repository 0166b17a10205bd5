"""Series that are pushed to us, of many devices at once, to canonical samples of each device. Pure.

A collector that is pushed to (remote write, OTLP, topics of other tools) shows each new source series once: ``add``
finds its rule, its device and its canonical rows, and answers with a slot. From then on samples are columns: slot, time
and value. ``admit`` makes one batch for each device of them. Nothing of it is done for a sample by Python, but for
parts of sums.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ingest.collectors import pushed_values
from ingest.collectors.admitted import Admitted
from ingest.collectors.event_time import accepted
from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.relabel import relabel
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_shares import PushedShares
from ingest.collectors.pushed_sums import Sum
from ingest.collectors.pushed_values import BAD, KNOWN, LEFT_OUT, REFUSED, Entries, Output, Pushed, Rules, Slots
from ingest.ledger import DropReason
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

UNMAPPED_MAX = 10_000  # names that are remembered
FORGET_NS = 3600 * 10**9  # a series that was silent for as long makes room for others
LOOK_NS = 300 * 10**9  # between two looks for room: each may build all tables again
_BATCH_ROWS = 100_000  # about 1 MB on the bus, whose messages hold 4
_NEVER = np.iinfo(np.int64).min
_EXPORTED = "exported_"  # Prometheus renames a label so that the target's of the same name can stand beside it
_NO_CHAR = re.compile(r"[^a-zA-Z0-9_:]")  # of a name in all stores, as OpenTelemetry's have dots
_Number = TypeVar("_Number", bound=np.generic)
_REASONS = {
    pushed_values.EVENT_TIME_AT: DropReason.EVENT_TIME,
    pushed_values.NO_VALUE_AT: DropReason.NO_VALUE,
    pushed_values.BOUNDS_AT: DropReason.OUT_OF_BOUNDS,
    pushed_values.DUPLICATE_AT: DropReason.DUPLICATE,
    pushed_values.ORDER_AT: DropReason.OUT_OF_ORDER,
    pushed_values.REFUSED_AT: DropReason.NEW_SERIES,
    pushed_values.BAD_AT: DropReason.BAD_FORMAT,
}


@dataclass(slots=True)
class _Target:
    """One pushed target. rows: canonical series to the row of all targets; table: None until it is asked for.

    kept: series under their own name.
    epoch_ns: another one when the name was forgotten and comes back, as its numbers begin at 0.
    pushed_ns: when it had samples last. said_ns: or was said to be silent.
    """

    name: str
    device: str
    epoch_ns: int = 0
    rows: dict[str, int] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    table: SeriesTable | None = None
    seq: int = 0
    pushed_ns: int = 0
    said_ns: int = 0

    def current(self) -> SeriesTable:
        if self.table is None:
            self.table = SeriesTable(self.name, self.device, tuple(self.rows))
        return self.table


class PushedSeries:
    """All series that one collector is pushed. Not shared between threads.

    name: first part of the targets' names. epoch_ns: when the collector started; with their numbers it names
    collections. series_max: source series, mapped or not; targets_max: targets; what is beyond is refused, and its
    samples are dropped as ``new_series``.
    unmapped: names of which no series was mapped when it was new, up to ``UNMAPPED_MAX``.
    """

    def __init__(
        self, name: str, rules: Sequence[PushedRule], epoch_ns: int, *, series_max: int, targets_max: int
    ) -> None:
        self._name, self._rules, self._epoch_ns = name, rules, epoch_ns
        self._series_max, self._targets_max = series_max, targets_max
        self._sources = [(rule.catalogue_source(), rule.origins()) for rule in rules]
        self._spans, self._sentinels = _sentinels(source.sentinels for source, _ in self._sources)
        self._mappers: dict[tuple[int, str, tuple[tuple[str, str], ...]], Mapper] = {}
        self._targets: dict[str, _Target] = {}
        self._used = 0
        self._slots = Slots(np.zeros(64, np.int8), *(np.zeros(64, np.int64) for _ in range(3)))
        self._entries_used = 0
        self._entries = Entries(np.zeros((5, 64), np.int64), np.zeros((4, 64)))
        self._entries_most = 0  # of one slot
        self._target_of: list[_Target] = []  # by row
        self._local: NDArray[np.int64] = np.zeros(64, np.int64)  # row in the target's table, by row
        self._number: NDArray[np.int64] = np.zeros(64, np.int64)  # of the target, by row
        self._numbers: dict[str, int] = {}
        self._last_ns: NDArray[np.int64] = np.full(64, _NEVER, np.int64)
        self._sums: dict[int, tuple[Sum, Entry]] = {}
        self._looked_ns = _NEVER
        self._shares = PushedShares(2 * targets_max)
        self.unmapped: set[str] = set()

    def __len__(self) -> int:
        """Slots in use."""
        return self._used

    @property
    def is_full(self) -> bool:
        """Whether there is no slot for a further series."""
        return self._used >= self._series_max

    @property
    def targets(self) -> tuple[tuple[str, str], ...]:
        """Name and device of all targets."""
        return tuple((target.name, target.device) for target in self._targets.values())

    def add(self, metric: str, labels: Mapping[str, str]) -> int:
        """The slot of a source series that has none yet, ``labels`` without its name; -1 when there is no room."""
        if self.is_full:
            return -1
        try:
            found = self._map(metric, labels)
        except ValueError:  # labels too long for a pattern
            return self._append(BAD)
        if found is None:
            return self._append(REFUSED)
        target, source, entries = found
        if entries is not None and all(entry.kept for entry in entries) and len(self.unmapped) < UNMAPPED_MAX:
            self.unmapped.add(metric)
        if not entries:
            self._shares.add(target.name, left_out=entries is None)
            return self._append(LEFT_OUT if entries is None else KNOWN, is_shared=True)
        return self._append(KNOWN, [(self._row(target, entry), entry) for entry in entries], self._spans[source])

    def add_bad(self) -> int:
        """The slot of a series whose labels are of no use: its samples are dropped as ``bad_format``."""
        return -1 if self.is_full else self._append(BAD)

    def count_refused(self, slots: NDArray[np.int64]) -> int:
        """How many of these are refused."""
        return int((slots < 0).sum() + (self._slots.kinds[slots[slots >= 0]] == REFUSED).sum())

    def admit(
        self,
        slots: NDArray[np.int64],
        times_ns: NDArray[np.int64],
        values: NDArray[np.float64],
        now_ns: int,
    ) -> Admitted:
        """The samples of a push, or of several, as batches of their targets.

        Columns of equal length: slots, -1 for a series that was refused; event times in nanoseconds; values in the
        source's unit, NaN for none, Prometheus' stale marker for the end of a series.
        """
        counts = np.zeros(pushed_values.DROPPED + 1, np.int64)
        most = slots.size * self._entries_most
        out = Output.allocate(most, most if self._sums else 0)
        rules = Rules(self._sentinels, self._last_ns, *accepted(now_ns), now_ns)
        kept = pushed_values.admit(Pushed(slots, times_ns, values), self._slots, self._entries, rules, out, counts)
        admitted = Admitted([], unmapped=int(counts[pushed_values.UNMAPPED_AT]))
        admitted.dropped.update({reason: int(counts[at]) for at, reason in _REASONS.items() if counts[at]})
        self._count_targets(out, int(counts[pushed_values.DROPPED]), admitted)
        rows, times_ns, values = out.rows[:kept], out.times_ns[:kept], out.values[:kept]
        if parts := int(counts[pushed_values.COUNTS]):
            sums = self._add_up(out, parts, admitted)
            columns = zip((rows, times_ns, values), sums, strict=True)
            rows, times_ns, values = (np.concatenate(pair) for pair in columns)
        admitted.batches = self._batches(rows, times_ns, values, now_ns)
        return admitted

    def silent(self, now_ns: int, after_ns: int) -> list[SampleBatch]:
        """A batch that says so for each target without a sample for ``after_ns``: each time that this has passed.

        After an hour nobody hears of it any more.
        """
        batches = []
        for target in self._targets.values():
            if now_ns - target.said_ns < after_ns or now_ns - target.pushed_ns > FORGET_NS:
                continue
            target.said_ns = now_ns
            collection = Collection(target.epoch_ns, target.seq, now_ns, 0.0, DownReason.SILENT)
            target.seq += 1
            none = np.empty(0, np.int64), np.empty(0, np.uint32), np.empty(0, np.float64)
            batches.append(SampleBatch(target.current(), collection, *none))
        return batches

    def forget_silent(self, now_ns: int) -> NDArray[np.int64] | None:
        """Makes room where there is little, for series or devices: forgets series that were silent for an hour.

        int64[slots before], the new slot of each, -1 for one that is forgotten; None when nothing changes.
        """
        has_room = self._used < 0.9 * self._series_max and len(self._targets) < 0.9 * self._targets_max
        if has_room or (self._looked_ns != _NEVER and now_ns - self._looked_ns < LOOK_NS):
            return None
        self._looked_ns = now_ns
        keep = self._slots.seen_ns[: self._used] >= now_ns - FORGET_NS
        if keep.all():
            return None
        moved = np.where(keep, np.cumsum(keep) - 1, -1)
        self._keep(np.flatnonzero(keep))
        return moved

    def _map(self, metric: str, labels: Mapping[str, str]) -> tuple[_Target, int, list[Entry] | None] | None:
        """Target, number of the rule and entries as ``Mapper.map`` gives them; None without room."""
        nobody = _Target("", "")
        job = labels.get("job", "")
        number = next((n for n, rule in enumerate(self._rules) if rule.matches(job)), None)
        if number is None:
            return nobody, 0, []
        rule = self._rules[number]
        before = {**labels, "__name__": metric, "__address__": labels.get("instance", "")}
        after = relabel(before, rule.relabel_configs) if rule.relabel_configs else before
        if after is None:
            return nobody, number, []
        identity = {k: v for k, v in after.items() if not k.startswith("__") and before.get(k) != v}
        address = next((after[name] for name in rule.device_from if after.get(name)), "")
        device = identity.setdefault("device", _host_of(address))
        if not device:
            return nobody, number, []
        name = f"{self._name}/{address or device}"
        target = self._targets.get(name) or _Target(name, device, self._epoch_ns)
        mapper = self._mapper(number, target, identity)
        entries = mapper.map(metric, _of_source(labels))
        if not entries and rule.unmapped == "keep":
            entries = _kept(target, mapper.kept(_NO_CHAR.sub("_", metric), labels), rule.unmapped_series_max) or entries
        if entries and name not in self._targets:
            if len(self._targets) >= self._targets_max:
                return None
            self._targets[name] = target
        return target, number, entries

    def _mapper(self, number: int, target: _Target, identity: Mapping[str, str]) -> Mapper:
        """That of all series of one target with the same rule and identity."""
        labels = {**identity, "device": target.device}
        key = (number, target.name, tuple(sorted(labels.items())))
        if key not in self._mappers:
            if len(self._mappers) >= 2 * self._targets_max:
                self._mappers.clear()
            self._mappers[key] = Mapper(self._sources[number][0], labels, self._sources[number][1])
        return self._mappers[key]

    def _row(self, target: _Target, entry: Entry) -> int:
        row = target.rows.get(entry.key)
        if row is None:
            row = target.rows[entry.key] = len(self._target_of)
            target.table = None
            self._target_of.append(target)
            self._local, self._number, self._last_ns = (
                _room(column, row, fill)
                for column, fill in ((self._local, 0), (self._number, 0), (self._last_ns, _NEVER))
            )
            self._local[row] = len(target.rows) - 1
            self._number[row] = self._numbers.setdefault(target.name, len(self._numbers))
        if entry.adds and row not in self._sums:
            self._sums[row] = Sum(), entry
        return row

    def _append(
        self,
        kind: int,
        rows: Sequence[tuple[int, Entry]] = (),
        sentinels: tuple[int, int] = (0, 0),
        *,
        is_shared: bool = False,
    ) -> int:
        if not is_shared:
            self._shares.add_other()
        slot, at = self._used, self._entries_used
        self._slots = Slots._make(_room(column, slot) for column in self._slots)
        self._entries = Entries._make(_room(column, at + len(rows)) for column in self._entries)
        self._slots.kinds[slot], self._slots.starts[slot], self._slots.counts[slot] = kind, at, len(rows)
        for place, (row, entry) in enumerate(rows, at):
            self._entries.whole[:, place] = (row, entry.bit, entry.adds, *sentinels)
            self._entries.real[:, place] = (entry.scale, entry.low, entry.high, entry.saturated)
        self._used, self._entries_used = slot + 1, at + len(rows)
        self._entries_most = max(self._entries_most, len(rows))
        return slot

    def _add_up(
        self, out: Output, parts: int, admitted: Admitted
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The sums that are complete with these parts."""
        found: list[tuple[int, int, float]] = []
        columns = (out.sum_rows, out.sum_slots, out.sum_times_ns, out.sum_values)
        for row, slot, time_ns, value in zip(*(column[:parts].tolist() for column in columns), strict=True):
            adding, entry = self._sums[row]
            complete, is_used = (adding.end(-1 - slot), True) if slot < 0 else adding.add(slot, time_ns, value)
            if not is_used:
                self._count_drop(admitted, row, DropReason.DUPLICATE)
            for at_ns, total in complete:
                if total != total:
                    self._count_drop(admitted, row, DropReason.NO_VALUE)
                elif not entry.low <= total <= entry.high or total == entry.saturated:
                    self._count_drop(admitted, row, DropReason.OUT_OF_BOUNDS)
                else:
                    found.append((row, at_ns, total))
        rows, times_ns, totals = list(zip(*found, strict=True)) or [(), (), ()]
        return np.array(rows, np.int64), np.array(times_ns, np.int64), np.array(totals, np.float64)

    def _count_targets(self, out: Output, count: int, admitted: Admitted) -> None:
        """The drops of a push that have a row, by target; ``dropped`` has them already."""
        if not count:
            return
        places = self._number[out.dropped_rows[:count]] * pushed_values.COUNTS + out.dropped_at[:count]
        names = list(self._numbers)
        for place, samples in zip(*(each.tolist() for each in np.unique(places, return_counts=True)), strict=True):
            number, at = divmod(place, pushed_values.COUNTS)
            admitted.of_targets[names[number], _REASONS[at]] += samples

    def _count_drop(self, admitted: Admitted, row: int, reason: DropReason) -> None:
        admitted.dropped[reason] += 1
        admitted.of_targets[self._target_of[row].name, reason] += 1

    def _batches(
        self, rows: NDArray[np.int64], times_ns: NDArray[np.int64], values: NDArray[np.float64], now_ns: int
    ) -> list[SampleBatch]:
        if not rows.size:
            return []
        numbers = self._number[rows]
        changes = np.flatnonzero(numbers[1:] != numbers[:-1])
        if changes.size:
            order = np.argsort(numbers, kind="stable")
            rows, times_ns, values, numbers = rows[order], times_ns[order], values[order], numbers[order]
            changes = np.flatnonzero(numbers[1:] != numbers[:-1])
        else:  # of one target, as most pushes are; the copies let go of the longer columns that they are a part of
            times_ns, values = times_ns.copy(), values.copy()
        local = self._local[rows].astype(np.uint32)
        ends = [*(changes + 1).tolist(), rows.size]
        batches, begin = [], 0
        for end in ends:
            target = self._target_of[int(rows[begin])]
            unmapped, left_out = self._shares.of(target.name)
            for first in range(begin, end, _BATCH_ROWS):
                part = slice(first, min(first + _BATCH_ROWS, end))
                collection = Collection(target.epoch_ns, target.seq, now_ns, 0.0, unmapped=unmapped, left_out=left_out)
                target.seq += 1
                target.pushed_ns = target.said_ns = now_ns
                batches.append(SampleBatch(target.current(), collection, times_ns[part], local[part], values[part]))
            begin = end
        return batches

    def _keep(self, slots: NDArray[np.int64]) -> None:
        """Goes on with these slots alone, in their order. Targets keep their sequence."""
        starts, counts = self._slots.starts[slots], self._slots.counts[slots]
        entries = _ranges(starts, counts)
        old_rows, new = np.unique(self._entries.whole[0, entries], return_inverse=True)
        self._slots = Slots._make(np.ascontiguousarray(column[slots]) for column in self._slots)
        self._slots.starts[:] = np.cumsum(counts) - counts
        self._entries = Entries._make(np.ascontiguousarray(column[:, entries]) for column in self._entries)
        self._entries.whole[0] = new
        self._used, self._entries_used = slots.size, entries.size
        self._shares.keep(slots)
        self._sums = {row: self._sums[old] for row, old in enumerate(old_rows.tolist()) if old in self._sums}
        moved_slots = {old: new for new, old in enumerate(slots.tolist())}
        for adding, _ in self._sums.values():
            adding.expected = {moved_slots[old] for old in adding.expected if old in moved_slots}
            adding.parts = {moved_slots[old]: part for old, part in adding.parts.items() if old in moved_slots}
        self._keep_rows(old_rows)

    def _keep_rows(self, old_rows: NDArray[np.int64]) -> None:
        keys = {row: key for target in self._targets.values() for key, row in target.rows.items()}
        self._target_of = [self._target_of[old] for old in old_rows.tolist()]
        self._last_ns = self._last_ns[old_rows]
        self._number, self._local = np.zeros((2, old_rows.size), np.int64)
        self._numbers, self._mappers = {}, {}
        self._epoch_ns += 1
        for target in self._targets.values():
            target.rows, target.table = {}, None
        for row, (old, target) in enumerate(zip(old_rows.tolist(), self._target_of, strict=True)):
            self._local[row] = len(target.rows)
            self._number[row] = self._numbers.setdefault(target.name, len(self._numbers))
            target.rows[keys[old]] = row
        for target in self._targets.values():
            target.kept &= target.rows.keys()
        self._targets = {name: target for name, target in self._targets.items() if target.rows}


def _kept(target: _Target, entries: list[Entry], most: int) -> list[Entry]:
    """These series under their own names; none of those that are new where the target has ``most`` of them."""
    new = {entry.key for entry in entries} - target.kept
    if len(target.kept) + len(new) > most:
        return []
    target.kept |= new
    return entries


def _host_of(address: str) -> str:
    """What is before the last colon; all of an IPv6 address without a port.

    >>> [_host_of(text) for text in ("node1:9400", "node1", "[fe80::1]:57400", "[fe80::1]", "fe80::1", "node1:a:b")]
    ['node1', 'node1', 'fe80::1', 'fe80::1', 'fe80::1', 'node1:a']
    """
    bare = address.strip("[]")
    try:
        ip_address(bare)
    except ValueError:
        return address.rpartition(":")[0].strip("[]") or address
    return bare


def _of_source(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels as the exporter sent them, where Prometheus renamed some."""
    named = {name.removeprefix(_EXPORTED): value for name, value in labels.items() if name.startswith(_EXPORTED)}
    return {**labels, **named}


def _sentinels(
    ranges: Iterable[tuple[tuple[float, float], ...]],
) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """Those of each source as a span of all, and all."""
    spans: list[tuple[int, int]] = []
    every: list[tuple[float, float]] = []
    for each in ranges:
        spans.append((len(every), len(every) + len(each)))
        every += each
    return spans, np.array(every, np.float64).reshape(-1, 2)


def _room(column: NDArray[_Number], place: int, fill: int = 0) -> NDArray[_Number]:
    """The column, or a larger one, that has this place along its last axis."""
    size = column.shape[-1]
    if place < size:
        return column
    more = np.full((*column.shape[:-1], max(size, place + 1 - size, 64)), fill, column.dtype)
    return np.concatenate((column, more), axis=-1)


def _ranges(starts: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """All numbers of the ranges that begin at ``starts``, one after the other."""
    before = np.cumsum(counts) - counts
    first: NDArray[np.int64] = np.repeat(starts - before, counts)
    return first + np.arange(first.size)


def warm_up() -> None:
    """Compiles the pass over a push, or loads it from the disk cache."""
    series = PushedSeries("", (), 0, series_max=1, targets_max=1)
    series.admit(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
