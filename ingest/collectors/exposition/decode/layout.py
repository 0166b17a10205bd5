"""Which number of a page is part of which canonical series: made once for a layout, used for every page of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import CONSTANT, Floats, Ints, Spans, Template
from telemetry.series import SeriesTable


@dataclass(frozen=True, slots=True)
class Layout:
    """A template with the way from its tokens to canonical series.

    token, row, scale, bit: int64/float64[entries], as ``finish`` takes them, in the order of rows.
    low, high:  float64[rows], bounds. stuck: float64[rows], the value that is none because the counter saturates.
    time:       int64[rows], the token with the row's timestamp or -1; None when the page has no timestamps.
    duplicates: series on the page that lost against an earlier one of the same canonical name.
    """

    template: Template
    table: SeriesTable
    token: Ints
    row: Ints
    scale: Floats
    bit: Ints
    low: Floats
    high: Floats
    stuck: Floats
    time: Ints | None
    duplicates: int


def build_layout(
    template: Template, spans: Spans, entries: Sequence[tuple[Entry, ...]], target: str, device: str
) -> Layout:
    """The layout of a page whose lines are all known; ``entries`` by series."""
    has_time = spans.time >= 0
    value_token = np.arange(len(has_time)) + np.cumsum(has_time) - has_time
    rows: dict[str, int] = {}
    parts: list[list[tuple[int, Entry]]] = []
    times: list[int] = []
    duplicates = 0
    for series, token, timed in zip(spans.series.tolist(), value_token.tolist(), has_time.tolist(), strict=True):
        for entry in entries[series]:
            row = rows.setdefault(entry.key, len(rows))
            if row == len(parts):
                parts.append([(token, entry)])
                times.append(token + 1 if timed else -1)
            elif entry.adds:
                parts[row].append((token, entry))
            elif entry.bit != CONSTANT:
                duplicates += 1
    flat = [(token, row, entry.scale, entry.bit) for row, part in enumerate(parts) for token, entry in part]
    columns = list(zip(*flat, strict=True)) or [(), (), (), ()]
    return Layout(
        template,
        SeriesTable(target, device, tuple(rows)),
        np.array(columns[0], dtype=np.int64),
        np.array(columns[1], dtype=np.int64),
        np.array(columns[2], dtype=np.float64),
        np.array(columns[3], dtype=np.int64),
        np.array([part[0][1].low for part in parts], dtype=np.float64),
        np.array([part[0][1].high for part in parts], dtype=np.float64),
        np.array([part[0][1].stuck for part in parts], dtype=np.float64),
        np.array(times, dtype=np.int64) if has_time.any() else None,
        duplicates,
    )
