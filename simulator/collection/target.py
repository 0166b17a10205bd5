"""One target: what its exporter has read last, and the batches that a collector makes of it."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from simulator.collection.config import Durations
from simulator.collection.draws import TargetDraws
from simulator.collection.groups import GROUPS, Selection, SeriesGroup
from simulator.collection.losses import Fate
from simulator.layout import Endpoint, Exporter
from telemetry.samples import Collection, DownReason, SampleBatch, all_rows
from telemetry.series import SeriesTable

WINDOW_S = 0.01
"""Duration of a stream's batch, and of a poll of an exporter that has nothing else to do."""


class Target:
    """State of one target between its collections."""

    def __init__(
        self,
        endpoint: Endpoint,
        epoch_ns: int,
        absent: frozenset[str],
        durations: Durations,
        draws: TargetDraws,
    ) -> None:
        self.endpoint, self._epoch_ns, self._absent, self._durations = endpoint, epoch_ns, absent, durations
        self._losses, self._clock, self._rng = draws.losses, draws.clock, draws.durations
        self._timeout_s = draws.timeout_s
        self._selections: dict[SeriesTable, Selection] = {}
        self._page: SeriesTable | None = None  # of the values that are kept
        self._kept: NDArray[np.float64] = np.zeros(0)
        self._peaks: NDArray[np.float64] | None = None
        self._seq = -1

    @property
    def is_read(self) -> bool:
        """Whether the exporter has read its device since that was last off."""
        return self._page is not None

    def read(self, page: SampleBatch, groups: Sequence[SeriesGroup]) -> None:
        """The exporter reads these groups: ``page`` is all that the device has now, or that it is down."""
        if not page.collection.up:
            self._forget()
            return
        selection = self._selection(page.table)
        values = page.values[selection.taken]
        if page.table is not self._page:  # other units: nothing that is kept belongs to them
            self._page, self._kept, self._peaks = page.table, values, None
            return
        if len(set(groups)) == len(GROUPS[self.endpoint.exporter]):
            self._kept = values
        else:
            for group in groups:
                rows = selection.rows[group]
                self._kept[rows] = values[rows]
        if self._peaks is not None and SeriesGroup.WATERMARKS in groups:
            rows = selection.rows[SeriesGroup.WATERMARKS]
            self._kept[rows] = np.maximum(values[rows], self._peaks)
            self._peaks = None

    def hold_peaks(self, page: SampleBatch) -> None:
        """Keeps the highest watermarks for the next read of them, which clears them."""
        if not page.collection.up or page.table is not self._page:
            return
        selection = self._selection(page.table)
        peaks = page.values[selection.taken[selection.rows[SeriesGroup.WATERMARKS]]]
        self._peaks = peaks if self._peaks is None else np.maximum(self._peaks, peaks)

    def collect(self, page: SampleBatch, groups: Sequence[SeriesGroup], at_ns: int) -> SampleBatch | None:
        """The batch of one collection of these groups, None when it is lost, or when nothing is in these groups.

        page: the device as it is now. at_ns: since the start of the simulation.
        """
        now_ns = page.collection.collected_ns
        if not page.collection.up:
            self._forget()
        if self._page is not None and not any(self._selection(self._page).rows[group].size for group in groups):
            return None
        self._seq += 1
        fate = self._losses.fate(at_ns) if self._losses is not None else Fate.ARRIVES
        duration_s, too_long = self._duration()
        down = page.collection.down or (DownReason.TIMEOUT if too_long else None)
        if fate is Fate.VANISHES:
            return None
        if isinstance(fate, DownReason):
            down = fate
            if fate is DownReason.TIMEOUT and self.endpoint.exporter is not Exporter.GNMI:
                duration_s = self._timeout_s
        if down is None:
            return self._batch(groups, Collection(self._epoch_ns, self._seq, now_ns, duration_s))
        table = page.table if self._page is None else self._selection(self._page).table
        collection = Collection(self._epoch_ns, self._seq, now_ns, duration_s, down)
        return SampleBatch(table, collection, np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0))

    def _batch(self, groups: Sequence[SeriesGroup], collection: Collection) -> SampleBatch:
        assert self._page is not None
        selection = self._selection(self._page)
        if len(groups) == len(GROUPS[self.endpoint.exporter]):
            rows, values = all_rows(self._kept.size), self._kept.copy()
        else:
            picked = np.concatenate([selection.rows[group] for group in groups])
            rows, values = picked.astype(np.uint32), self._kept[picked]
        times = np.full(values.size, self._clock.read(collection.collected_ns), dtype=np.int64)
        return SampleBatch(selection.table, collection, times, rows, values)

    def _selection(self, page: SeriesTable) -> Selection:
        known = self._selections.get(page)
        if known is None:
            known = self._selections[page] = Selection(self.endpoint.exporter, page, self._absent)
        return known

    def _duration(self) -> tuple[float, bool]:
        """Of a collection in seconds, and whether it ended because of that."""
        if self.endpoint.exporter is Exporter.GNMI:
            return WINDOW_S, False
        took_s = poll_s(self._durations, self._rng)
        return min(took_s, self._timeout_s), took_s > self._timeout_s

    def _forget(self) -> None:
        self._page, self._peaks = None, None


def poll_s(durations: Durations, rng: np.random.Generator) -> float:
    """How long the next poll takes, without a timeout."""
    if not durations.sigma:
        return durations.median_s
    return durations.median_s * float(np.exp(durations.sigma * rng.standard_normal()))


def arrives_after_ns(batch: SampleBatch) -> int:
    """From the begin of a collection to the moment at which its batch is published."""
    return round(batch.collection.duration_s * NS_PER_S)
