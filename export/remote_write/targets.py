"""What each target's series looked like last: order, repetitions, and series that ended."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_MS
from export.remote_write.encoder import STALE_BITS, Rows
from export.remote_write.series import Prefixes, encode_labels, prefixes_of, prefixes_of_table
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable

_NEVER = np.iinfo(np.int64).min
_UP, _DURATION = 0, 1


@dataclass(slots=True)
class Passed:
    """What became of one batch: blocks to send in order, and the samples that do not go."""

    blocks: list[Rows]
    sent: int = 0
    repeated: int = 0
    late: int = 0
    unusable: int = 0
    down: int = 0


class TargetState:
    """The series of one target as they were last sent. Not shared between threads."""

    def __init__(self, table: SeriesTable, external: dict[str, str], *, send_late: bool) -> None:
        self._external = external
        self._send_late = send_late
        labels = {"device": table.device, "target": table.target}
        own = [encode_labels(name, labels, external) for name in ("up", "scrape_duration_seconds")]
        self._own = prefixes_of(own)
        self._own_ms = _NEVER
        self._adopt(table)

    def passed(self, batch: SampleBatch) -> Passed:
        """Puts the batch in order, drops what the receiver has, and marks what ended.

        A target that is down ends all its series; a series that left the target's table ended too. A series that is
        in the table and not in the batch says nothing: streaming targets report parts.
        """
        blocks = []
        now_ms = batch.collection.collected_ns // NS_PER_MS
        if batch.table.digest != self._table.digest:
            blocks += self._replace(batch.table, now_ms)
        passed = self._samples(batch) if batch.collection.up else Passed(self._ended(self._alive, now_ms))
        if not batch.collection.up:
            passed.down = len(batch)
        passed.blocks = blocks + passed.blocks + self._status(batch, now_ms)
        return passed

    def _adopt(self, table: SeriesTable) -> None:
        self._table = table
        self._prefixes: Prefixes = prefixes_of_table(table, self._external)
        self._last_ms = np.full(len(table), _NEVER, dtype=np.int64)
        self._alive = np.zeros(len(table), dtype=np.bool_)

    def _replace(self, table: SeriesTable, now_ms: int) -> list[Rows]:
        """Goes over to a new table; returns the end of the series that it lacks."""
        rows = {key: row for row, key in enumerate(table.keys)}
        kept = np.fromiter((rows.get(key, -1) for key in self._table.keys), dtype=np.int64, count=len(self._table))
        ended = self._ended(self._alive & (kept < 0), now_ms)
        last_ms, alive = self._last_ms, self._alive
        self._adopt(table)
        stays = kept >= 0
        self._last_ms[kept[stays]] = last_ms[stays]
        self._alive[kept[stays]] = alive[stays]
        return ended

    def _ended(self, which: NDArray[np.bool_], now_ms: int) -> list[Rows]:
        series = np.flatnonzero(which)
        if series.size == 0:
            return []
        times_ms = np.maximum(self._last_ms[series] + 1, now_ms)
        self._last_ms[series] = times_ms
        self._alive[series] = False
        return [Rows(self._prefixes, series, times_ms, np.full(series.size, STALE_BITS), synthetic=True)]

    def _samples(self, batch: SampleBatch) -> Passed:
        series, times_ms = batch.series.astype(np.int64), batch.times_ns // NS_PER_MS
        bits = batch.values.view(np.uint64)
        if series.size > 1 and not (series[1:] > series[:-1]).all():
            order = np.lexsort((times_ms, series))  # stable: of equal times the last one stays last
            series, times_ms, bits = series[order], times_ms[order], bits[order]
        newest = np.ones(series.size, dtype=np.bool_)
        newest[:-1] = (series[1:] != series[:-1]) | (times_ms[1:] != times_ms[:-1])
        last_ms = self._last_ms[series]
        usable = self._prefixes.usable[series]
        repeated = usable & ((times_ms == last_ms) | ~newest)
        late = usable & ~repeated & (times_ms < last_ms)
        goes = usable & ~repeated & (~late | self._send_late)
        passed = Passed([], int(goes.sum()), int(repeated.sum()), int((late & ~goes).sum()), int((~usable).sum()))
        if passed.sent:
            rows = Rows(self._prefixes, series[goes], times_ms[goes], bits[goes])
            np.maximum.at(self._last_ms, rows.series, rows.times_ms)
            self._alive[rows.series] = True
            passed.blocks.append(rows)
        return passed

    def _status(self, batch: SampleBatch, now_ms: int) -> list[Rows]:
        """``up`` and ``scrape_duration_seconds`` of the collection."""
        if now_ms <= self._own_ms:
            return []
        self._own_ms = now_ms
        values = np.array([float(batch.collection.up), batch.collection.duration_s])
        times_ms = np.full(2, now_ms, dtype=np.int64)
        return [Rows(self._own, np.array([_UP, _DURATION]), times_ms, values.view(np.uint64), synthetic=True)]
