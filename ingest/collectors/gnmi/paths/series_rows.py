"""The series of one target as rows: a row begins with the first value and ends with a delete."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import inf

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.gnmi.paths.elements import Elements, below
from ingest.collectors.gnmi.paths.naming import Named
from telemetry.series import SeriesTable, series_key

ENDED = -2
"""The row of a leaf whose series was deleted; the next value gives it a new row."""


@dataclass(slots=True, eq=False)
class Leaf:
    """A path that is a series. row changes when other series end; raw: the path as received."""

    row: int
    named: Named
    raw: Elements
    states: Mapping[str, float] = field(default_factory=dict)


class SeriesRows:
    """Grows up to ``series_max``; ``refused`` counts series beyond it. Of these ``kept_max`` keep their own name.

    limits: float64[3, >= rows]: the factor to the metric's unit, and its minimum and maximum in that unit.
    """

    def __init__(self, target: str, device: str, series_max: int, kept_max: int = 0) -> None:
        self._target, self._device, self._series_max, self._kept_max = target, device, series_max, kept_max
        self._rows: dict[str, int] = {}
        self._leaves: dict[int, list[Leaf]] = {}
        self._ended: set[int] = set()
        self._kept = 0
        self._table: SeriesTable | None = None
        self.refused = 0
        self.limits = _no_limits(64)

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def table(self) -> SeriesTable:
        """The same object until a series begins or ends."""
        if self._table is None:
            self._table = SeriesTable(self._target, self._device, tuple(self._rows))
        return self._table

    def new_leaf(self, named: Named, raw: Elements) -> Leaf | None:
        """A leaf on the row of its series; None when the target has too many."""
        leaf = Leaf(ENDED, named, raw, named.origin.states)
        return leaf if self.assign_row(leaf) else None

    def assign_row(self, leaf: Leaf) -> bool:
        """Puts a leaf on the row of its series, a new one if necessary. False when the target has too many series."""
        metric = leaf.named.metric
        key = series_key(metric.name, {**leaf.named.labels, "device": self._device})
        row = self._rows.get(key)
        if row is None:
            if leaf.named.kept and self._kept >= self._kept_max:
                return False
            if len(self._rows) >= self._series_max:
                self.refused += 1
                return False
            self._kept += leaf.named.kept
            row = self._rows[key] = len(self._rows)
            self._table = None
            self._grow(row)
            self.limits[:, row] = (
                leaf.named.origin.scale,
                -inf if metric.minimum is None else metric.minimum,
                inf if metric.maximum is None else metric.maximum,
            )
        leaf.row = row
        self._leaves.setdefault(row, []).append(leaf)
        return True

    def leaves(self) -> Iterator[tuple[str, Leaf]]:
        """The paths that are series, each with the key of its series."""
        keys = list(self._rows)
        for row, leaves in self._leaves.items():
            for leaf in leaves:
                yield keys[row], leaf

    def end(self, root: Elements) -> None:
        """Marks the series below a deleted path; ``purge`` removes them unless a value comes first."""
        for row, leaves in self._leaves.items():
            if any(below(leaf.raw, root) for leaf in leaves):
                self._ended.add(row)

    @property
    def ending(self) -> bool:
        """Whether a deleted series waits for ``purge``."""
        return bool(self._ended)

    def keep(self, rows: NDArray[np.int32]) -> None:
        """These rows have a value: the delete before it was a replacement."""
        self._ended.difference_update(rows.tolist())

    def purge(self) -> NDArray[np.int32] | None:
        """Removes the ended series. Old row -> new row (ENDED for removed ones), or None when nothing ended."""
        if not self._ended:
            return None
        keep = [row for row in range(len(self._rows)) if row not in self._ended]
        moved = np.full(len(self._rows), ENDED, np.int32)
        moved[keep] = np.arange(len(keep), dtype=np.int32)
        keys = list(self._rows)
        self._rows = {keys[row]: i for i, row in enumerate(keep)}
        for row, leaves in self._leaves.items():
            for leaf in leaves:
                leaf.row = int(moved[row])
        self._leaves = {i: self._leaves[row] for i, row in enumerate(keep)}
        self._kept = sum(leaves[0].named.kept for leaves in self._leaves.values())
        self.limits = np.ascontiguousarray(self.limits[:, keep]) if keep else _no_limits(1)
        self._ended.clear()
        self._table = None
        return moved

    def _grow(self, row: int) -> None:
        size = self.limits.shape[1]
        if row >= size:
            self.limits = np.concatenate((self.limits, _no_limits(max(64, size))), axis=1)


def _no_limits(rows: int) -> NDArray[np.float64]:
    return np.repeat([[1.0], [-inf], [inf]], rows, axis=1)
