"""Cells of a page of comma-separated values that state one value again and again: of a device, in the row of each of
its ports. Pure.

The first one that is a number counts: the row of a port that is down may have none. One that states the same is no
sample that was dropped, and one that states another is.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import CONSTANT, Floats, Ints
from ingest.collectors.series_layout import SeriesLayout
from ingest.ledger import DropReason

_PORT = 'port="'


class SharedCells(NamedTuple):
    """int64[n], by place: the place of each such cell, and the row of the layout that it belongs to."""

    places: Ints
    rows: Ints


def find_shared(mapped: Sequence[Sequence[Sequence[Entry] | None]], columns: int, layout: SeriesLayout) -> SharedCells:
    """mapped: by row of the page, then by column. Places are counted by column, then by row."""
    row_of = {key: row for row, key in enumerate(layout.table.keys)}
    found = [
        (column * len(mapped) + number, row_of[entry.key])
        for column in range(columns)
        for number, row in enumerate(mapped)
        if _is_of_device(row[column])
        for entry in row[column] or ()
    ]
    places, rows = np.array(found, np.int64).reshape(-1, 2).T
    return SharedCells(places, rows)


def _is_of_device(entries: Sequence[Entry] | None) -> bool:
    return bool(entries) and all(
        not entry.adds and entry.bit != CONSTANT and _PORT not in entry.key for entry in entries or ()
    )


def state_once(
    shared: SharedCells, layout: SeriesLayout, source: Floats, empty: NDArray[np.bool_]
) -> tuple[Ints, Mapping[DropReason, int]]:
    """int64[rows]: the cell that states each series, whose value it puts where ``layout`` expects it; and what of the
    other cells is dropped. source: the values, NaN for none; empty: cells without any text."""
    stated_by, (places, rows) = layout.first.copy(), shared
    is_number = ~np.isnan(source[places])
    known, at = np.unique(rows[is_number], return_index=True)
    stated_by[known] = places[is_number][at]
    values = source[stated_by][rows]
    takes_part = stated_by[rows] == places
    differs = is_number & (source[places] != values)
    no_number = ~is_number & ~empty[places] & ~takes_part
    source[layout.first[known]], empty[layout.first[known]] = source[stated_by[known]], False
    return stated_by, Counter({DropReason.DUPLICATE: int(differs.sum()), DropReason.NO_VALUE: int(no_number.sum())})
