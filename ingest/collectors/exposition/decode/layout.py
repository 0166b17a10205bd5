"""Which number of a body is part of which canonical series: built once for a layout, used for every body of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import CONSTANT, BodyTemplate, Floats, Ints, Spans
from telemetry.series import SeriesTable


@dataclass(frozen=True, slots=True)
class Layout:
    """A template, and how its tokens become canonical series.

    entries:    int64[3, entries], in the order of rows: token, row, and which bit of the token (PLAIN, CONSTANT: none).
    scale:      float64[entries], the factor to the metric's unit.
    bounds:     float64[3, rows], minimum, maximum, and the value of a saturated counter, which is no sample.
    time:       int64[rows], the token with the row's timestamp or -1; None when the body has no timestamps.
    duplicates: series of the body that an earlier one of the same canonical name displaced, and parts of sums that it
                has twice.
    unmapped:   lines of the body that are no part of a canonical series, but for those left out on purpose.
    left_out:   these.
    """

    template: BodyTemplate
    table: SeriesTable
    entries: Ints
    scale: Floats
    bounds: Floats
    time: Ints | None
    duplicates: int
    unmapped: int
    left_out: int


def build_layout(
    template: BodyTemplate,
    spans: Spans,
    entries: Sequence[tuple[Entry, ...] | None],
    target: str,
    device: str,
    kept_max: int = 0,
) -> Layout:
    """The layout of a body whose lines are all known, with at most ``kept_max`` series that keep their own name.

    entries: by series; None of one that is left out on purpose.
    """
    has_time = spans.time >= 0
    value_token = np.arange(len(has_time)) + np.cumsum(has_time) - has_time
    rows: dict[str, int] = {}
    parts: list[list[tuple[int, Entry]]] = []
    times: list[int] = []
    added: set[tuple[str, str]] = set()
    duplicates = unmapped = left_out = kept = 0
    for series, token, timed in zip(spans.series.tolist(), value_token.tolist(), has_time.tolist(), strict=True):
        found = entries[series]
        unmapped += found == ()
        left_out += found is None
        for entry in found or ():
            if entry.kept and entry.key not in rows:
                if kept == kept_max:
                    unmapped += 1
                    continue
                kept += 1
            row = rows.setdefault(entry.key, len(rows))
            if row == len(parts):
                parts.append([(token, entry)])
                times.append(token + 1 if timed else -1)
            elif entry.adds and (entry.key, entry.part) not in added:
                parts[row].append((token, entry))
            elif entry.bit != CONSTANT:
                duplicates += 1
            if entry.adds:
                added.add((entry.key, entry.part))
    flat = [(token, row, entry.bit, entry.scale) for row, part in enumerate(parts) for token, entry in part]
    tokens, entry_rows, bits, scales = list(zip(*flat, strict=True)) or [(), (), (), ()]
    firsts = [part[0][1] for part in parts]
    bounds = [entry.low for entry in firsts], [entry.high for entry in firsts], [entry.saturated for entry in firsts]
    return Layout(
        template=template,
        table=SeriesTable(target, device, tuple(rows)),
        entries=np.array((tokens, entry_rows, bits), dtype=np.int64),
        scale=np.array(scales, dtype=np.float64),
        bounds=np.array(bounds, dtype=np.float64),
        time=np.array(times, dtype=np.int64) if has_time.any() else None,
        duplicates=duplicates,
        unmapped=unmapped,
        left_out=left_out,
    )
