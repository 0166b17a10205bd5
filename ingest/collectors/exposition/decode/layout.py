"""Which number of a body is part of which canonical series: built once for a layout, used for every body of it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ingest.collectors.exposition.decode.mapping import Entry
from ingest.collectors.exposition.decode.template import BodyTemplate, Ints, Spans
from ingest.collectors.series_layout import SeriesLayout, lay_out


@dataclass(frozen=True, slots=True)
class Layout:
    """A template, and how its tokens become canonical series.

    series: by token. time: int64[rows], the token with the row's timestamp or -1; None when the body has no timestamps.
    """

    template: BodyTemplate
    series: SeriesLayout
    time: Ints | None


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
    by_line = lay_out((entries[series] for series in spans.series.tolist()), target, device, kept_max=kept_max)
    has_time = spans.time >= 0
    token = np.arange(len(has_time)) + np.cumsum(has_time) - has_time
    lines, rows, bits = by_line.entries
    by_token = replace(
        by_line,
        entries=np.array((token[lines], rows, bits)),
        first=token[by_line.first],
        displaced=token[by_line.displaced],
    )
    time = np.where(has_time[by_line.first], by_token.first + 1, -1) if has_time.any() else None
    return Layout(template, by_token, time)
