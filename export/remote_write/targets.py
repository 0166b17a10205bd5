"""What was sent last of each target's series: decides on order, repetitions, and series that ended. Pure."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_MS
from export.remote_write import labels
from export.remote_write.encoder import STALE_BITS, SampleBlock
from export.remote_write.labels import EncodedLabels, encode_labels
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable

_NEVER = np.iinfo(np.int64).min
_UP, _DURATION = 0, 1


@dataclass(slots=True)
class BatchOutcome:
    """What became of one batch: blocks to send in order, and how many samples are sent or not, and why."""

    blocks: list[SampleBlock]
    sent: int = 0
    duplicates: int = 0
    late: int = 0
    unusable: int = 0
    down: int = 0


class TargetState:
    """The series of one target as they were last sent. Not shared between threads."""

    def __init__(self, table: SeriesTable, external: dict[str, str], *, send_late: bool) -> None:
        self._external = external
        self._send_late = send_late
        self._own_ms = _NEVER
        self._own_labels = self._encode_own(table)
        self._use_table(table)

    def process(self, batch: SampleBatch) -> BatchOutcome:
        """Puts the batch in order, drops what the receiver has, and marks what ended.

        A target that is down ends all its series; a series that left the target's table ended too. A series that is
        in the table and not in the batch says nothing: streaming targets report parts.
        """
        blocks = []
        now_ms = batch.collection.collected_ns // NS_PER_MS
        if batch.table.digest != self._table.digest:
            blocks += self._change_table(batch.table, now_ms)
        outcome = self._samples(batch) if batch.collection.up else BatchOutcome(self._ended(self._alive, now_ms))
        if not batch.collection.up:
            outcome.down = len(batch)
        outcome.blocks = blocks + outcome.blocks + self._status(batch, now_ms)
        return outcome

    def _encode_own(self, table: SeriesTable) -> EncodedLabels:
        names = {"device": table.device, "target": table.target}
        own = [encode_labels(metric, names, self._external) for metric in ("up", "scrape_duration_seconds")]
        return labels.join(own)

    def _use_table(self, table: SeriesTable) -> None:
        self._table = table
        self._labels: EncodedLabels = labels.encode_table(table, self._external)
        self._last_ms: NDArray[np.int64] = np.full(len(table), _NEVER, dtype=np.int64)
        self._alive: NDArray[np.bool_] = np.zeros(len(table), dtype=np.bool_)

    def relabel(self, external: dict[str, str]) -> list[SampleBlock]:
        """Goes on with other external labels; returns the end of the series that had the old ones."""
        ended = self._ended(self._alive, _NEVER)
        if self._own_ms != _NEVER:
            times_ms, stale = np.full(2, self._own_ms + 1, dtype=np.int64), np.full(2, STALE_BITS)
            ended.append(SampleBlock(self._own_labels, np.array([_UP, _DURATION]), times_ms, stale, synthetic=True))
        self._external, last_ms = external, self._last_ms
        self._own_labels = self._encode_own(self._table)
        self._use_table(self._table)
        self._last_ms = last_ms
        return ended

    def _change_table(self, table: SeriesTable, now_ms: int) -> list[SampleBlock]:
        """Goes on with a new table; returns the end of the series that it lacks."""
        rows = {key: row for row, key in enumerate(table.keys)}
        kept = np.fromiter((rows.get(key, -1) for key in self._table.keys), dtype=np.int64, count=len(self._table))
        ended = self._ended(self._alive & (kept < 0), now_ms)
        last_ms, alive = self._last_ms, self._alive
        self._use_table(table)
        stays = kept >= 0
        self._last_ms[kept[stays]] = last_ms[stays]
        self._alive[kept[stays]] = alive[stays]
        return ended

    def _ended(self, which: NDArray[np.bool_], now_ms: int) -> list[SampleBlock]:
        series = np.flatnonzero(which)
        if series.size == 0:
            return []
        times_ms = np.maximum(self._last_ms[series] + 1, now_ms)
        self._last_ms[series] = times_ms
        self._alive[series] = False
        return [SampleBlock(self._labels, series, times_ms, np.full(series.size, STALE_BITS), synthetic=True)]

    def _samples(self, batch: SampleBatch) -> BatchOutcome:
        series, times_ms = batch.series.astype(np.int64), batch.times_ns // NS_PER_MS
        bits = batch.values.view(np.uint64)
        if series.size > 1 and not (series[1:] > series[:-1]).all():
            order = np.lexsort((times_ms, series))  # stable: of equal times the last one stays last
            series, times_ms, bits = series[order], times_ms[order], bits[order]
        newest = np.ones(series.size, dtype=np.bool_)
        newest[:-1] = (series[1:] != series[:-1]) | (times_ms[1:] != times_ms[:-1])
        last_ms = self._last_ms[series]
        usable = self._labels.usable[series]
        duplicates = usable & ((times_ms == last_ms) | ~newest)
        late = usable & ~duplicates & (times_ms < last_ms)
        goes = usable & ~duplicates & (~late | self._send_late)
        outcome = BatchOutcome(
            [],
            sent=int(goes.sum()),
            duplicates=int(duplicates.sum()),
            late=int((late & ~goes).sum()),
            unusable=int((~usable).sum()),
        )
        if outcome.sent:
            block = SampleBlock(self._labels, series[goes], times_ms[goes], bits[goes])
            np.maximum.at(self._last_ms, block.series, block.times_ms)
            self._alive[block.series] = True
            outcome.blocks.append(block)
        return outcome

    def _status(self, batch: SampleBatch, now_ms: int) -> list[SampleBlock]:
        """``up`` and ``scrape_duration_seconds`` of the collection."""
        if now_ms <= self._own_ms:
            return []
        self._own_ms = now_ms
        values = np.array([float(batch.collection.up), batch.collection.duration_s])
        times_ms = np.full(2, now_ms, dtype=np.int64)
        bits = values.view(np.uint64)
        return [SampleBlock(self._own_labels, np.array([_UP, _DURATION]), times_ms, bits, synthetic=True)]
