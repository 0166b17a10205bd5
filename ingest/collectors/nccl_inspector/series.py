"""The canonical series of the operations that records are about, as numbers and columns. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.base import SourceSeries
from ingest.collectors.columns import room
from ingest.collectors.exposition.decode.mapping import Mapper
from ingest.collectors.nccl_inspector.operation import Operation
from ingest.collectors.nccl_inspector.windows import Windows
from ingest.ledger import DropReason
from telemetry.catalogue import origins_of, source
from telemetry.samples import all_rows
from telemetry.series import SeriesTable

_SYSTEM = "nccl_inspector"
_BUSBW, _EXEC = 0, 1
_FIELDS = ("busbw_gbs", "exec_time_us")


class Samples(NamedTuple):
    """Columns of equal length: rows of a table, event times, values. dropped: what has none of these, by reason."""

    table: SeriesTable
    rows: NDArray[np.uint32]
    times_ns: NDArray[np.int64]
    values: NDArray[np.float64]
    dropped: dict[DropReason, int]


class OperationSeries:
    """Two series each. name, device: of the target. operations_max: that are remembered.

    hosts: devices by the name that a host has in records.
    """

    def __init__(self, name: str, device: str, hosts: dict[str, str], operations_max: int) -> None:
        self._name, self._device, self._hosts, self._max = name, device, hosts, operations_max
        self._mapper = Mapper(source(_SYSTEM), {}, origins_of(_SYSTEM))
        self._fields: dict[str, bool | None] = {}
        self._numbers: dict[Operation, int] = {}
        self._keys: dict[str, int] = {}
        self._table = SeriesTable(name, device, ())
        self._series: NDArray[np.int64] = np.full((2, 64), -1, np.int64)
        self._scale: NDArray[np.float64] = np.ones((2, 64))
        self._last_ns: NDArray[np.int64] = np.zeros(64, np.int64)

    @property
    def unmapped(self) -> set[str]:
        """Fields of records that nothing maps."""
        return self._mapper.unmapped

    def number(self, operation: Operation) -> int:
        """-1 where there is no room for another one."""
        at = self._numbers.get(operation, -1)
        if at < 0 and len(self._numbers) < self._max:
            at = self._add(operation)
        return at

    def key_row(self, name: str, labels: dict[str, str]) -> int:
        """The row of a series of one name, such as a count of files; its key is in the next table."""
        entries = self._mapper.map(name, self._named(labels))
        assert entries, "the catalogue has it"
        return self._keys.setdefault(entries[0].key, len(self._keys))

    def fields(self, names: Iterable[str]) -> tuple[int, int]:
        """How many of these fields of records nothing maps, and how many are left out on purpose."""
        unmapped = left_out = 0
        for name in names:
            if name not in self._fields and len(self._fields) < self._max:
                found = self._mapper.map(name, {})
                self._fields[name] = None if found is None else name not in self._mapper.unmapped
            if (mapped := self._fields.get(name, False)) is None:
                left_out += 1
            elif not mapped:
                unmapped += 1
        return unmapped, left_out

    def source_series(self) -> Iterator[SourceSeries]:
        """Of all operations, and of the fields that become no series."""
        for operation in self._numbers:
            labels = self._named(operation.labels())
            for field in _FIELDS:
                name = f"{operation.kind}_{field}"
                yield self._mapper.source_series(name, labels, self._mapper.map(name, labels))
        for name, mapped in self._fields.items():
            if not mapped:
                yield self._mapper.source_series(name, {}, self._mapper.map(name, {}))

    def samples(self, windows: Windows, stated: dict[int, float], now_ns: int) -> Samples:
        """Of windows that are over, in the order of windows; and what is stated now, by row.

        A window that comes after a later one of its operation, as from a file that was read late, is no sample.
        """
        dropped: dict[DropReason, int] = {}
        is_late = windows.ended_ns <= self._last_ns[windows.operation]
        is_late |= _repeats(windows)
        if is_late.any():
            dropped[DropReason.OUT_OF_ORDER] = int(windows.records[is_late].sum())
            windows = windows.only(~is_late)
        np.maximum.at(self._last_ns, windows.operation, windows.ended_ns)
        exec_us, busbw = windows.means()
        rows, times_ns, values = [], [], []
        for field, means in ((_BUSBW, busbw), (_EXEC, exec_us)):
            series = self._series[field, windows.operation]
            kept = (series >= 0) & ~np.isnan(means)
            if (absent := int((series >= 0).sum() - kept.sum())) > 0:
                dropped[DropReason.NO_VALUE] = dropped.get(DropReason.NO_VALUE, 0) + absent
            rows.append(series[kept])
            times_ns.append(windows.ended_ns[kept])
            values.append((means * self._scale[field, windows.operation])[kept])
        rows.append(np.fromiter(stated, np.int64, len(stated)))
        times_ns.append(np.full(len(stated), now_ns, np.int64))
        values.append(np.fromiter(stated.values(), np.float64, len(stated)))
        if len(self._keys) != len(self._table):
            self._table = SeriesTable(self._name, self._device, tuple(self._keys))
        found = np.concatenate(rows)
        is_all = found.size == len(self._table) and bool((found == np.arange(found.size)).all())
        series_rows = all_rows(found.size) if is_all else found.astype(np.uint32)
        return Samples(self._table, series_rows, np.concatenate(times_ns), np.concatenate(values), dropped)

    def forget(self, before_ns: int, open_windows: Windows) -> Windows:
        """Makes room where there is little: forgets operations without a sample since then and no open window.

        Returns the windows with the new numbers of their operations.
        """
        if len(self._numbers) < 0.9 * self._max:
            return open_windows
        is_kept = self._last_ns[: len(self._numbers)] >= before_ns
        is_kept[open_windows.operation] = True
        moved = np.cumsum(is_kept) - 1
        kept = np.flatnonzero(is_kept)
        operations = list(self._numbers)
        last_ns = self._last_ns[kept]
        self._numbers.clear()
        self._keys.clear()
        self._table = SeriesTable(self._name, self._device, ())
        for at in kept.tolist():
            self._add(operations[at])
        self._last_ns[: kept.size] = last_ns
        return open_windows._replace(operation=moved[open_windows.operation])

    def _named(self, labels: dict[str, str]) -> dict[str, str]:
        node = labels.get("node", "")
        return {**labels, "node": self._hosts.get(node, node) or self._device}

    def _add(self, operation: Operation) -> int:
        at = self._numbers[operation] = len(self._numbers)
        self._series, self._scale = room(self._series, at), room(self._scale, at)
        self._last_ns = room(self._last_ns, at)
        self._last_ns[at] = 0
        labels = self._named(operation.labels())
        for place, field in enumerate(_FIELDS):
            entries = self._mapper.map(f"{operation.kind}_{field}", labels) or ()
            self._series[place, at] = -1
            for entry in entries:
                self._series[place, at] = self._keys.setdefault(entry.key, len(self._keys))
                self._scale[place, at] = entry.scale
        return at


def _repeats(windows: Windows) -> NDArray[np.bool_]:
    """Rows that end no later than the one before, of the same operation."""
    found = np.zeros(windows.operation.size, np.bool_)
    same = windows.operation[1:] == windows.operation[:-1]
    found[1:] = same & (windows.ended_ns[1:] <= windows.ended_ns[:-1])
    return found
