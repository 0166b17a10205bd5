"""Values in a fixed order to canonical samples: built once for an order, used for every page that has it. Pure."""

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.exposition.decode import scan_plain
from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import CONSTANT, Floats, Ints, Rows
from ingest.ledger import DropReason
from telemetry.samples import all_rows
from telemetry.series import SeriesTable

_UINT32 = np.dtype(np.uint32)  # made of a type for each page it takes 0.1 us

COMPILED = importlib.util.find_spec("numba") is not None
if COMPILED:
    from ingest.collectors.exposition.decode import scan_numba

Finish = Callable[[Floats, Ints, Floats, Floats, Floats, Floats, Rows], tuple[int, int, int]]
"""``finish`` of scan_numba and scan_plain."""


def finish(*, compiled: bool = COMPILED) -> Finish:
    return scan_numba.finish if compiled else scan_plain.finish


@dataclass(frozen=True, slots=True)
class SeriesLayout:
    """How values in a fixed order become canonical series.

    entries:    int64[3, entries], in the order of rows: place of the value, row, and which bit of it (PLAIN, CONSTANT:
                none).
    scale:      float64[entries], the factor to the metric's unit.
    bounds:     float64[3, rows], minimum, maximum, and the value of a saturated counter, which is no sample.
    first:      int64[rows], place of the first value of each row.
    displaced:  int64[n], places of values that an earlier one of the same canonical name displaced, and of parts of
                sums that are there twice.
    unmapped:   values that are no part of a canonical series, but for those left out on purpose.
    left_out:   these.
    """

    table: SeriesTable
    entries: Ints
    scale: Floats
    bounds: Floats
    first: Ints
    displaced: Ints
    unmapped: int
    left_out: int

    @property
    def duplicates(self) -> int:
        return self.displaced.size


class Taken(NamedTuple):
    """series: uint32[n], rows of the table. values: float64[n]. dropped: what has none of these."""

    series: NDArray[np.uint32]
    values: Floats
    dropped: dict[DropReason, int]


def lay_out(found: Iterable[Sequence[Entry] | None], target: str, device: str, *, kept_max: int = 0) -> SeriesLayout:
    """The layout of values of which each has these entries, None where it is left out on purpose, with at most
    ``kept_max`` series that keep their own name."""
    rows: dict[str, int] = {}
    parts: list[list[tuple[int, Entry]]] = []
    added: set[tuple[str, str]] = set()
    displaced: list[int] = []
    unmapped = left_out = kept = 0
    for place, entries in enumerate(found):
        unmapped += entries is not None and not entries
        left_out += entries is None
        for entry in entries or ():
            if entry.kept and entry.key not in rows:
                if kept == kept_max:
                    unmapped += 1
                    continue
                kept += 1
            row = rows.setdefault(entry.key, len(rows))
            if row == len(parts):
                parts.append([(place, entry)])
            elif entry.adds and (entry.key, entry.part) not in added:
                parts[row].append((place, entry))
            elif entry.bit != CONSTANT:
                displaced.append(place)
            if entry.adds:
                added.add((entry.key, entry.part))
    flat = [(place, row, entry.bit, entry.scale) for row, part in enumerate(parts) for place, entry in part]
    places, entry_rows, bits, scales = list(zip(*flat, strict=True)) or [(), (), (), ()]
    firsts = [part[0][1] for part in parts]
    bounds = [entry.low for entry in firsts], [entry.high for entry in firsts], [entry.saturated for entry in firsts]
    return SeriesLayout(
        table=SeriesTable(target, device, tuple(rows)),
        entries=np.array((places, entry_rows, bits), dtype=np.int64),
        scale=np.array(scales, dtype=np.float64),
        bounds=np.array(bounds, dtype=np.float64),
        first=np.array([part[0][0] for part in parts], dtype=np.int64),
        displaced=np.array(displaced, dtype=np.int64),
        unmapped=unmapped,
        left_out=left_out,
    )


def take(layout: SeriesLayout, source: Floats, sentinels: Floats, finish: Finish) -> Taken:
    """The samples of one page. source: its values in their order, NaN for none. sentinels: float64[n, 2]."""
    size = len(layout.table)
    values, rows = np.empty(size), np.empty(size, _UINT32)
    kept, no_value, outside = finish(source, layout.entries, layout.scale, layout.bounds, sentinels, values, rows)
    dropped: dict[DropReason, int] = {}
    if no_value:
        dropped[DropReason.NO_VALUE] = no_value
    if outside:
        dropped[DropReason.OUT_OF_BOUNDS] = outside
    if layout.duplicates:
        dropped[DropReason.DUPLICATE] = layout.duplicates
    series = all_rows(size) if kept == size else rows[:kept]
    return Taken(series, values[:kept], dropped)
