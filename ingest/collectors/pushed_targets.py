"""The devices that a collector is pushed, the canonical series of each, and the batches of their samples. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ingest.collectors import pushed_values
from ingest.collectors.columns import room
from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.pushed_shares import PushedShares
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable

FORGET_NS = 3600 * 10**9  # a series that was silent for as long makes room for others
BATCH_ROWS = 100_000  # about 1 MB on the bus, whose messages hold 4
_NEVER = np.iinfo(np.int64).min


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

    def batch(
        self,
        now_ns: int,
        shares: tuple[int, int],
        times_ns: NDArray[np.int64],
        series: NDArray[np.uint32],
        values: NDArray[np.float64],
    ) -> SampleBatch:
        unmapped, left_out = shares
        collection = Collection(self.epoch_ns, self.seq, now_ns, 0.0, unmapped=unmapped, left_out=left_out)
        self.seq += 1
        self.pushed_ns = self.said_ns = now_ns
        return SampleBatch(self.current(), collection, times_ns, series, values)


class PushedTargets:
    """All targets of one collector. name: first part of theirs. epoch_ns: when the collector started.

    Each canonical series has a row. By row: places, int64[2, rows], the number of its target and its row in the
    target's table; last_ns, int64[rows], its newest sample. shares: what of their series is no sample.
    """

    def __init__(self, name: str, epoch_ns: int, targets_max: int) -> None:
        self._name, self._epoch_ns, self._targets_max = name, epoch_ns, targets_max
        self._targets: dict[str, _Target] = {}
        self._target_of: list[_Target] = []  # by row
        self._numbers: dict[str, int] = {}
        self.shares = PushedShares(2 * targets_max)
        self.places: NDArray[np.int64] = np.zeros((2, 64), np.int64)
        self.last_ns: NDArray[np.int64] = np.full(64, _NEVER, np.int64)
        self._counts: NDArray[np.int64] = np.zeros(64, np.int64)  # by number of a target, zeros between calls

    def __len__(self) -> int:
        return len(self._targets)

    @property
    def names(self) -> tuple[tuple[str, str], ...]:
        """Name and device of all targets."""
        return tuple((target.name, target.device) for target in self._targets.values())

    def name_of(self, row: int) -> str:
        """The target's of a row."""
        return self._target_of[row].name

    def numbered(self) -> list[str]:
        """The targets' names by their numbers in ``places``."""
        return list(self._numbers)

    def device_of(self, target: str, device: str) -> str:
        """Of a known target; of another one the given one."""
        known = self._targets.get(f"{self._name}/{target}")
        return known.device if known is not None else device

    def add(self, target: str, device: str) -> _Target | None:
        """A target of that name, a new one when there is none yet; None when there is no room."""
        name = f"{self._name}/{target}"
        found = self._targets.get(name)
        if found is None and len(self._targets) < self._targets_max:
            found = self._targets[name] = _Target(name, device, self._epoch_ns)
        return found

    def add_share(self, target: str | None, *, left_out: bool) -> None:
        """A series of the target that is no sample; None for no certain target."""
        self.shares.add("" if target is None else f"{self._name}/{target}", left_out=left_out)

    def may_keep(self, target: str, entries: Sequence[Entry], most: int) -> bool:
        """Whether there are any of these, and the target has room for them beside its others that are kept."""
        known = self._targets.get(f"{self._name}/{target}")
        kept = known.kept if known is not None else set()
        return bool(entries) and len(kept | {entry.key for entry in entries}) <= most

    def row(self, target: _Target, key: str) -> int:
        """Of a canonical series of a target, a new one when it has none yet."""
        row = target.rows.get(key)
        if row is None:
            row = target.rows[key] = len(self._target_of)
            target.table = None
            self._target_of.append(target)
            self.places, self.last_ns = room(self.places, row), room(self.last_ns, row, _NEVER)
            number = self._numbers.setdefault(target.name, len(self._numbers))
            self.places[:, row] = number, len(target.rows) - 1
        return row

    def batch(
        self,
        row: int,
        times_ns: NDArray[np.int64],
        series: NDArray[np.uint32],
        values: NDArray[np.float64],
        now_ns: int,
    ) -> SampleBatch:
        """Samples of the one target that has the row. series: rows of its table."""
        target = self._target_of[row]
        return target.batch(now_ns, self.shares.of(target.name), times_ns, series, values)

    def batches(
        self, rows: NDArray[np.int64], times_ns: NDArray[np.int64], values: NDArray[np.float64], now_ns: int
    ) -> list[SampleBatch]:
        """Samples of any targets. The batches hold no part of longer columns."""
        if not rows.size:
            return []
        self._counts, found = room(self._counts, len(self._numbers)), np.empty(rows.size, np.int64)
        numbers = np.sort(found[: pushed_values.count_by_target(rows, self.places, self._counts, found)])
        ends = np.cumsum(self._counts[numbers])
        self._counts[numbers] = ends - self._counts[numbers]
        whole, local, ordered = np.empty((2, rows.size), np.int64), np.empty(rows.size, np.uint32), np.empty(rows.size)
        pushed_values.sort_by_target(rows, times_ns, values, self.places, self._counts, whole, local, ordered)
        self._counts[numbers] = 0
        (rows, times_ns), values = whole, ordered
        batches, begin = [], 0
        for end in ends.tolist():
            target = self._target_of[int(rows[begin])]
            shares = self.shares.of(target.name)
            for first in range(begin, end, BATCH_ROWS):
                part = slice(first, min(first + BATCH_ROWS, end))
                batches.append(target.batch(now_ns, shares, times_ns[part], local[part], values[part]))
            begin = end
        return batches

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

    def keep(self, old_rows: NDArray[np.int64]) -> None:
        """Goes on with these rows alone, in their order. Targets keep their sequence."""
        keys = {row: key for target in self._targets.values() for key, row in target.rows.items()}
        self._target_of = [self._target_of[old] for old in old_rows.tolist()]
        self.last_ns = self.last_ns[old_rows]
        self.places = np.zeros((2, old_rows.size), np.int64)
        self._numbers = {}
        self._epoch_ns += 1
        for target in self._targets.values():
            target.rows, target.table = {}, None
        for row, (old, target) in enumerate(zip(old_rows.tolist(), self._target_of, strict=True)):
            number = self._numbers.setdefault(target.name, len(self._numbers))
            self.places[:, row] = number, len(target.rows)
            target.rows[keys[old]] = row
        for target in self._targets.values():
            target.kept &= target.rows.keys()
        self._targets = {name: target for name, target in self._targets.items() if target.rows}
