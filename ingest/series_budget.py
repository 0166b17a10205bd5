"""How many new series one target may bring: what is beyond is dropped here, before it costs every later stage.

A series costs memory and a calibration in analytics for hours, so a target whose labels change with each scrape would
hold up all others. Pure: batches in, batches out; the time is that of the collections.
"""

from dataclasses import dataclass, field, replace
from heapq import nsmallest

import numpy as np
import structlog
from numpy.typing import NDArray

from common.units import NS_PER_S
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import SeriesTable

log = structlog.get_logger("ingest")
_HOUR_NS = 3600 * NS_PER_S
_SHOWN_MAX = 20
_RETRY_SHARE = 0.1
"""Refused series are admitted a tenth of the hour's budget at a time: each admission is a new table for all readers."""


@dataclass(slots=True)
class _Target:
    """What is known of one target.

    left: new series that may still come, as of at_ns. source: the last table; admitted: the part of it that is allowed.
    rows: int64[len(source)], row in ``admitted``, -1 for a refused series; None when all are allowed.
    gone: series that were allowed and are not in ``admitted``; they may come back.
    """

    left: float
    at_ns: int
    source: SeriesTable
    admitted: SeriesTable
    rows: NDArray[np.int64] | None = None
    refused: int = 0
    gone: set[str] = field(default_factory=set)


class SeriesBudget:
    """The budgets of all targets of a process. per_hour: new series of one target; as many may come at once."""

    def __init__(self, per_hour: int, ledger: Ledger) -> None:
        self._per_hour, self._ledger = per_hour, ledger
        self._targets: dict[str, _Target] = {}

    @property
    def targets_over(self) -> int:
        """Targets with refused series."""
        return sum(target.refused > 0 for target in self._targets.values())

    def refused(self) -> dict[str, int]:
        """How many series of a target are refused now, of the ``_SHOWN_MAX`` targets with most of them."""
        over = [(-target.refused, name) for name, target in self._targets.items() if target.refused]
        return {name: -count for count, name in nsmallest(_SHOWN_MAX, over)}

    def admit(self, batch: SampleBatch) -> SampleBatch:
        """The batch without samples of series beyond the budget; down as ``too_many_series`` if none is left."""
        name, now_ns = batch.table.target, batch.collection.collected_ns
        target = self._targets.get(name)
        if target is None:
            nothing = SeriesTable(name, batch.table.device, ())
            target = self._targets[name] = _Target(self._per_hour, now_ns, nothing, nothing)
        if batch.table is not target.source or target.refused:
            self._update(target, batch.table, now_ns)
        return batch if target.rows is None else self._reduced(batch, target, target.rows)

    def forget(self, name: str) -> None:
        """The target is no longer collected."""
        self._targets.pop(name, None)

    def _update(self, target: _Target, table: SeriesTable, now_ns: int) -> None:
        passed_ns = max(0, now_ns - target.at_ns)
        target.left = min(self._per_hour, target.left + self._per_hour * passed_ns / _HOUR_NS)
        target.at_ns = max(now_ns, target.at_ns)
        if table is target.source and target.left < min(target.refused, _RETRY_SHARE * self._per_hour):
            return
        was_over = target.refused > 0
        self._choose(target, table)
        if target.refused and not was_over:
            log.warning(
                "target brings too many new series",
                target=table.target,
                device=table.device,
                dropped=target.refused,
                new_series_per_hour=self._per_hour,
            )

    def _choose(self, target: _Target, table: SeriesTable) -> None:
        """Allows the known series, and the first of the others as far as the budget goes."""
        known = target.gone.union(target.admitted.keys)
        new = [row for row, key in enumerate(table.keys) if key not in known]
        refused = new[int(target.left) :]
        target.left -= len(new) - len(refused)
        target.refused, target.source, target.rows, target.admitted = len(refused), table, None, table
        if refused:
            target.rows = np.arange(len(table), dtype=np.int64)
            target.rows[refused] = -1
            kept = np.flatnonzero(target.rows >= 0)
            target.rows[kept] = np.arange(kept.size)
            target.admitted = SeriesTable(table.target, table.device, tuple(table.keys[row] for row in kept.tolist()))
        target.gone = known.difference(table.keys)
        if len(target.gone) > self._per_hour:
            target.gone = set()

    def _reduced(self, batch: SampleBatch, target: _Target, rows: NDArray[np.int64]) -> SampleBatch:
        series = rows[batch.series]
        kept = series >= 0
        self._ledger.dropped(DropReason.NEW_SERIES, int(kept.size - kept.sum()), batch.table.target)
        collection = batch.collection
        if collection.up and not kept.any():
            collection = replace(collection, down=DownReason.TOO_MANY_SERIES)
        columns = batch.times_ns[kept], series[kept].astype(np.uint32), batch.values[kept]
        return SampleBatch(target.admitted, collection, *columns)
