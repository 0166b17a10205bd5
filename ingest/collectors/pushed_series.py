"""Series that are pushed to us, of many devices at once, to canonical samples of each device. Pure.

A collector that is pushed to (remote write, OTLP, topics of other tools) shows each new source series once: ``add``
finds its rule, its device and its canonical rows, and answers with a slot. From then on samples are columns: slot, time
and value. ``admit`` makes one batch for each device of them. Nothing of it is done for a sample by Python, but for
parts of sums. A message that repeats the layout of an earlier one is admitted from its bytes: ``admit_known``.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ingest.collectors import pushed_values
from ingest.collectors.admitted import Admitted
from ingest.collectors.columns import ranges, room
from ingest.collectors.event_time import accepted
from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.pushed_layout import PushedLayout
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_rules import Identity, PushedRules
from ingest.collectors.pushed_sums import Sum
from ingest.collectors.pushed_targets import BATCH_ROWS, FORGET_NS, PushedTargets
from ingest.collectors.pushed_values import BAD, KNOWN, LEFT_OUT, REFUSED, State
from ingest.ledger import DropReason
from telemetry.samples import SampleBatch, all_rows

UNMAPPED_MAX = 10_000  # names that are remembered
LOOK_NS = 300 * 10**9  # between two looks for room: each may build all tables again
_NEVER = np.iinfo(np.int64).min
_REASONS = {
    pushed_values.EVENT_TIME_AT: DropReason.EVENT_TIME,
    pushed_values.NO_VALUE_AT: DropReason.NO_VALUE,
    pushed_values.BOUNDS_AT: DropReason.OUT_OF_BOUNDS,
    pushed_values.DUPLICATE_AT: DropReason.DUPLICATE,
    pushed_values.ORDER_AT: DropReason.OUT_OF_ORDER,
    pushed_values.REFUSED_AT: DropReason.NEW_SERIES,
    pushed_values.BAD_AT: DropReason.BAD_FORMAT,
}


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
        self._series_max, self._targets_max = series_max, targets_max
        self._rules = PushedRules(rules, 2 * targets_max)
        self._targets = PushedTargets(name, epoch_ns, targets_max)
        self._used = self._entries_used = 0
        self._slots: NDArray[np.int64] = np.zeros((4, 64), np.int64)
        self._whole: NDArray[np.int64] = np.zeros((5, 64), np.int64)
        self._real: NDArray[np.float64] = np.zeros((4, 64))
        self._entries_most = 0  # of one slot
        self._sums: dict[int, tuple[Sum, Entry]] = {}
        self._output = pushed_values.allocate(64)
        self._looked_ns = _NEVER
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
        return self._targets.names

    def add(self, metric: str, labels: Mapping[str, str]) -> int:
        """The slot of a source series that has none yet, ``labels`` without its name; -1 when there is no room."""
        if self.is_full:
            return -1
        try:
            identity = self._rules.identify(metric, labels)
            entries = () if identity is None else self._entries(identity, metric, labels)
        except ValueError:  # labels too long for a pattern
            return self._append(BAD)
        if entries is not None and all(entry.kept for entry in entries) and len(self.unmapped) < UNMAPPED_MAX:
            self.unmapped.add(metric)
        if identity is None or not entries:
            self._targets.add_share(identity.target if identity is not None else None, left_out=entries is None)
            return self._append(LEFT_OUT if entries is None else KNOWN, is_shared=True)
        target = self._targets.add(identity.target, identity.device)
        if target is None:
            return self._append(REFUSED)
        target.kept.update(entry.key for entry in entries if entry.kept)
        rows = [self._targets.row(target, entry.key) for entry in entries]
        self._sums.update(
            {
                row: (Sum(), entry)
                for row, entry in zip(rows, entries, strict=True)
                if entry.adds and row not in self._sums
            }
        )
        return self._append(KNOWN, list(zip(rows, entries, strict=True)), self._rules.spans[identity.rule])

    def _entries(self, identity: Identity, metric: str, labels: Mapping[str, str]) -> Sequence[Entry] | None:
        """As ``Mapper.map`` gives them, or those of what nothing maps under its own name, where the rule keeps it."""
        device = self._targets.device_of(identity.target, identity.device)
        entries = self._rules.entries(identity, device, metric, labels)
        kept = () if entries else self._rules.kept(identity, device, metric, labels)
        return kept if self._targets.may_keep(identity.target, kept, self._rules.kept_max(identity)) else entries

    def add_bad(self) -> int:
        """The slot of a series whose labels are of no use: its samples are dropped as ``bad_format``."""
        return -1 if self.is_full else self._append(BAD)

    def count_refused(self, slots: NDArray[np.int64]) -> int:
        """How many of these are refused."""
        return int((slots < 0).sum() + (self._slots[pushed_values.KIND, slots[slots >= 0]] == REFUSED).sum())

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
        self._make_room(slots.size)
        kept = pushed_values.admit(slots, times_ns, values, self._state(), self._output, *accepted(now_ns), now_ns)
        return self._admitted(kept, now_ns)

    def admit_known(self, data: NDArray[np.uint8], layout: PushedLayout, now_ns: int) -> Admitted | None:
        """The samples of a message, as ``admit`` gives them; None when it differs by more than times and values."""
        self._make_room(layout.samples)
        kept = pushed_values.admit_known(
            data, layout.fixed, layout.holes, self._state(), self._output, *accepted(now_ns), now_ns
        )
        return None if kept < 0 else self._admitted(kept, now_ns)

    def silent(self, now_ns: int, after_ns: int) -> list[SampleBatch]:
        """A batch that says so for each target without a sample for ``after_ns``: each time that this has passed.

        After an hour nobody hears of it any more.
        """
        return self._targets.silent(now_ns, after_ns)

    def forget_silent(self, now_ns: int) -> NDArray[np.int64] | None:
        """Makes room where there is little, for series or devices: forgets series that were silent for an hour.

        int64[slots before], the new slot of each, -1 for one that is forgotten; None when nothing changes.
        """
        has_room = self._used < 0.9 * self._series_max and len(self._targets) < 0.9 * self._targets_max
        if has_room or (self._looked_ns != _NEVER and now_ns - self._looked_ns < LOOK_NS):
            return None
        self._looked_ns = now_ns
        keep = self._slots[pushed_values.SEEN_NS, : self._used] >= now_ns - FORGET_NS
        if keep.all():
            return None
        moved = np.where(keep, np.cumsum(keep) - 1, -1)
        self._keep(np.flatnonzero(keep))
        return moved

    def _state(self) -> State:
        targets = self._targets
        return self._slots, self._whole, self._real, self._rules.sentinels, targets.last_ns, targets.places

    def _make_room(self, samples: int) -> None:
        """For what a push of as many samples gives. It is used again: what is kept of it is copied."""
        most = samples * self._entries_most
        if most > self._output[2].size:
            self._output = pushed_values.allocate(max(most, 2 * self._output[2].size))

    def _admitted(self, kept: int, now_ns: int) -> Admitted:
        """From what is in the output."""
        whole, real, series, tally = self._output
        counts = tally.tolist()
        admitted = Admitted([], unmapped=counts[pushed_values.UNMAPPED_AT])
        if any(counts[1 : pushed_values.REASONS]):
            admitted.dropped.update({reason: counts[at] for at, reason in _REASONS.items() if counts[at]})
            self._count_targets(counts[pushed_values.DROPPED_AT], admitted)
        rows, times_ns, values = whole[pushed_values.OUT_ROW, :kept], whole[pushed_values.OUT_NS, :kept], real[0, :kept]
        if parts := counts[pushed_values.PARTS_AT]:
            sums = self._add_up(parts, admitted)
            rows, times_ns, values = (np.concatenate(pair) for pair in zip((rows, times_ns, values), sums, strict=True))
        elif 0 < kept <= BATCH_ROWS and not counts[pushed_values.MIXED_AT]:  # of one target, as most pushes are
            local = series[:kept].copy() if counts[pushed_values.GAPS_AT] else all_rows(kept)
            admitted.batches.append(self._targets.batch(int(rows[0]), times_ns.copy(), local, values.copy(), now_ns))
            return admitted
        admitted.batches = self._targets.batches(rows, times_ns, values, now_ns)
        return admitted

    def _append(
        self,
        kind: int,
        rows: Sequence[tuple[int, Entry]] = (),
        sentinels: tuple[int, int] = (0, 0),
        *,
        is_shared: bool = False,
    ) -> int:
        if not is_shared:
            self._targets.shares.add_other()
        slot, at = self._used, self._entries_used
        self._slots = room(self._slots, slot)
        self._whole, self._real = room(self._whole, at + len(rows)), room(self._real, at + len(rows))
        self._slots[:, slot] = kind, at, len(rows), 0
        for place, (row, entry) in enumerate(rows, at):
            self._whole[:, place] = (row, entry.bit, entry.adds, *sentinels)
            self._real[:, place] = (entry.scale, entry.low, entry.high, entry.saturated)
        self._used, self._entries_used = slot + 1, at + len(rows)
        self._entries_most = max(self._entries_most, len(rows))
        return slot

    def _add_up(
        self, parts: int, admitted: Admitted
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """The sums that are complete with these parts."""
        found: list[tuple[int, int, float]] = []
        whole, real, _, _ = self._output
        places = pushed_values.SUM_ROW, pushed_values.SUM_SLOT, pushed_values.SUM_NS
        columns = (*(whole[place] for place in places), real[pushed_values.SUM_VALUE])
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

    def _count_targets(self, count: int, admitted: Admitted) -> None:
        """The drops of a push that have a row, by target; ``dropped`` has them already."""
        if not count:
            return
        whole = self._output[0][:, :count]
        numbers = self._targets.places[pushed_values.NUMBER, whole[pushed_values.DROPPED_ROW]]
        places = numbers * pushed_values.REASONS + whole[pushed_values.DROPPED_REASON]
        names = self._targets.numbered()
        for place, samples in zip(*(each.tolist() for each in np.unique(places, return_counts=True)), strict=True):
            number, at = divmod(place, pushed_values.REASONS)
            admitted.of_targets[names[number], _REASONS[at]] += samples

    def _count_drop(self, admitted: Admitted, row: int, reason: DropReason) -> None:
        admitted.dropped[reason] += 1
        admitted.of_targets[self._targets.name_of(row), reason] += 1

    def _keep(self, slots: NDArray[np.int64]) -> None:
        """Goes on with these slots alone, in their order."""
        starts, counts = self._slots[pushed_values.START, slots], self._slots[pushed_values.COUNT, slots]
        entries = ranges(starts, counts)
        old_rows, new = np.unique(self._whole[pushed_values.ROW, entries], return_inverse=True)
        self._slots = np.ascontiguousarray(self._slots[:, slots])
        self._slots[pushed_values.START] = np.cumsum(counts) - counts
        self._whole = np.ascontiguousarray(self._whole[:, entries])
        self._real = np.ascontiguousarray(self._real[:, entries])
        self._whole[pushed_values.ROW] = new
        self._used, self._entries_used = slots.size, entries.size
        self._sums = {row: self._sums[old] for row, old in enumerate(old_rows.tolist()) if old in self._sums}
        moved_slots = {old: new for new, old in enumerate(slots.tolist())}
        for adding, _ in self._sums.values():
            adding.expected = {moved_slots[old] for old in adding.expected if old in moved_slots}
            adding.parts = {moved_slots[old]: part for old, part in adding.parts.items() if old in moved_slots}
        self._rules.forget()
        self._targets.shares.keep(slots)
        self._targets.keep(old_rows)


def warm_up() -> None:
    """Compiles the passes over a push, or loads them from the disk cache."""
    series = PushedSeries("", (), 0, series_max=1, targets_max=1)
    series.admit(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), 0)
    series.admit_known(np.frombuffer(b"", np.uint8), PushedLayout.of(b"", np.zeros((4, 0), np.int64)), 0)
    none, counts = np.zeros(0, np.int64), np.zeros((2, 0), np.int64)
    pushed_values.count_by_target(none, counts, none, none)
    pushed_values.sort_by_target(none, none, np.zeros(0), counts, none, counts, np.zeros(0, np.uint32), np.zeros(0))
