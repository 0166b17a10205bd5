"""A page of comma-separated values, a row for each object and a column for each quantity, to canonical samples.

As UFM Telemetry answers below ``/csv``: the header names the columns; some of them are labels (GUID, number of the
port), one is the time of the row in microseconds, the others hold a value or nothing. Pure. Columns stay columns: only
a row that is new, or has other labels, is looked at by itself.
"""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from common.errors import BadInput
from common.units import NS_PER_US
from ingest.collectors.event_time import accepted
from ingest.collectors.exposition.decode.body import BodySamples
from ingest.collectors.exposition.decode.mapping import Entry, Mapper, labels_used
from ingest.collectors.exposition.decode.shared_cells import SharedCells, find_shared, state_once
from ingest.collectors.series_layout import SeriesLayout, finish, lay_out, take
from ingest.ledger import DropReason
from telemetry.catalogue import Metric, Origin, Source

COLUMNS_MAX, HEADER_BYTES_MAX = 4096, 256 * 1024  # UFM has about 200
_TIME = "timestamp"
_Entries = tuple[Entry, ...] | None


@dataclass(frozen=True, slots=True)
class _Columns:
    """What the columns of a page are, by their places in the header.

    names: as the catalogue spells them. values: that may become samples. time: None without one.
    unmapped: neither of these, nor left out on purpose.
    """

    names: tuple[str, ...]
    labels: tuple[int, ...]
    values: tuple[int, ...]
    unmapped: tuple[int, ...]
    time: int | None


class CsvReader:
    """Reads the pages of one target and remembers what their rows are.

    series_max: values of a page in columns that may become samples; more is BadInput (``too_many_series``).
    kept_max:   series of a page under their own name, where the mapper keeps what nothing maps.
    """

    def __init__(
        self,
        target: str,
        device: str,
        mapper: Mapper,
        source: Source,
        origins: Sequence[tuple[Metric, Origin]],
        *,
        series_max: int,
        kept_max: int = 0,
    ) -> None:
        self._target, self._device, self._mapper = target, device, mapper
        self._series_max, self._kept_max = series_max, kept_max
        self._sentinels = np.array(source.sentinels, dtype=np.float64).reshape(-1, 2)
        self._labels = labels_used(source, origins)
        names = {*self._labels, _TIME, *(origin.name for _, origin in origins if "{" not in origin.name)}
        self._spelled = {name.casefold(): name for name in sorted(names)}
        self._starts = sorted({origin.name.partition("{")[0] for _, origin in origins if "{" in origin.name})
        self._finish = finish()
        self.forget()

    def forget(self) -> None:
        """All that was learned from other pages."""
        self._header = b""
        self._columns = _Columns((), (), (), (), None)
        self._rows: dict[tuple[str | None, ...], list[_Entries]] = {}
        self._keys: pl.DataFrame | None = None
        self._layout: SeriesLayout | None = None
        self._shared = SharedCells(np.zeros(0, np.int64), np.zeros(0, np.int64))

    def series(self) -> Iterator[tuple[str, Mapping[str, str], tuple[Entry, ...] | None]]:
        """Each value of the rows that were seen, with what it feeds: () for nothing, None where it is left out."""
        names = [self._columns.names[place] for place in self._columns.values]
        for row, mapped in self._rows.items():
            labels = self._labels_of(row)
            yield from ((name, labels, entries) for name, entries in zip(names, mapped, strict=True))

    def read_known(self, body: bytes, now_ns: int, *, openmetrics: bool = False) -> BodySamples | None:
        """None: a page of thousands of ports is for a worker thread."""
        return None

    def read(self, body: bytes, now_ns: int, *, openmetrics: bool = False) -> BodySamples:
        """The samples of a page. BadInput: ``not_exposition``, ``bad_format``, ``too_large``, ``too_many_series``."""
        header, _, rows = body.partition(b"\n")
        header = header.rstrip(b"\r")
        names = _names(header)
        cells = _cells(rows, len(names))
        if header != self._header:
            self.forget()
            self._header, self._columns = header, self._sort(names)
        columns = self._columns
        if cells.height * len(columns.values) > self._series_max:
            raise BadInput(f"more than {self._series_max} series", "too_many_series")
        layout = self._lay_out(cells.select(cells.columns[place] for place in columns.labels), cells.height)
        unmapped = sum(cells.height - cells.to_series(place).null_count() for place in columns.unmapped)
        layout = replace(layout, unmapped=layout.unmapped + unmapped)
        return self._samples(layout, cells, now_ns)

    def _sort(self, names: Sequence[str]) -> _Columns:
        spelled = [self._spelling(name) for name in names]
        labels = [place for place, name in enumerate(spelled) if name in self._labels]
        values = [place for place, name in enumerate(spelled) if self._mapper.may_map(name) and name != _TIME]
        others = [place for place, name in enumerate(spelled) if place not in {*labels, *values} and name != _TIME]
        unmapped = [place for place in others if self._mapper.map(spelled[place], {}) is not None]
        time = spelled.index(_TIME) if _TIME in spelled else None
        return _Columns(tuple(spelled), tuple(labels), tuple(values), tuple(unmapped), time)

    def _spelling(self, name: str) -> str:
        """The catalogue's."""
        folded = name.casefold()
        if (whole := self._spelled.get(folded)) is not None:
            return whole
        start = next((start for start in self._starts if start and folded.startswith(start.casefold())), "")
        return start + name[len(start) :]

    def _lay_out(self, keys: pl.DataFrame, height: int) -> SeriesLayout:
        """By column, then by row: the order in which ``_samples`` has the values."""
        if self._layout is not None and self._keys is not None and keys.equals(self._keys):
            return self._layout
        texts = keys.rows() if keys.width else [()] * height
        if len(self._rows) > 2 * height + 1000:
            self._rows = {}  # most of the known rows are gone
        for row in texts:
            if row not in self._rows:
                self._rows[row] = self._map(row)
        mapped = [self._rows[row] for row in texts]
        found = (entries[place] for place in range(len(self._columns.values)) for entries in mapped)
        layout = lay_out(found, self._target, self._device, kept_max=self._kept_max)
        self._shared = find_shared(mapped, len(self._columns.values), layout)
        self._layout = replace(layout, displaced=np.setdiff1d(layout.displaced, self._shared.places))
        self._keys = keys
        return self._layout

    def _map(self, row: Sequence[str | None]) -> list[_Entries]:
        """The entries of a row's values."""
        labels = self._labels_of(row)
        mapped = [self._mapper.map(self._columns.names[place], labels) for place in self._columns.values]
        return [None if entries is None else tuple(entries) for entries in mapped]

    def _labels_of(self, row: Sequence[str | None]) -> Mapping[str, str]:
        named = zip((self._columns.names[place] for place in self._columns.labels), row, strict=True)
        return {name: text for name, text in named if text}

    def _samples(self, layout: SeriesLayout, cells: pl.DataFrame, now_ns: int) -> BodySamples:
        texts = [cells.to_series(place) for place in self._columns.values]
        source = np.concatenate([np.empty(0), *(_numbers(text) for text in texts)])
        empty = np.concatenate([np.empty(0, np.bool_), *(text.is_null().to_numpy() for text in texts)])
        stated_by, repeated = state_once(self._shared, layout, source, empty)
        series, values, dropped = take(layout, source, self._sentinels, self._finish)
        _leave_out_empty(dropped, layout, empty, series)
        for reason, count in repeated.items():
            if count:
                dropped[reason] = dropped.get(reason, 0) + count
        times_ns = self._times(cells, now_ns)[stated_by[series] % max(cells.height, 1)]
        first_ns, last_ns = accepted(now_ns)
        bad = (times_ns < first_ns) | (times_ns > last_ns)
        if bad.any():
            dropped[DropReason.EVENT_TIME] = int(bad.sum())
            times_ns, series, values = times_ns[~bad], series[~bad], values[~bad]
        return BodySamples(layout.table, times_ns, series, values, layout.unmapped, layout.left_out, dropped)

    def _times(self, cells: pl.DataFrame, now_ns: int) -> NDArray[np.int64]:
        """Of the rows; now where a row states none."""
        if self._columns.time is None:
            return np.full(cells.height, now_ns, np.int64)
        stated = _numbers(cells.to_series(self._columns.time))
        known = np.where(np.abs(stated) < 9e15, stated, 0.0)  # beyond is outside the accepted times in any case
        return np.where(np.isnan(stated), now_ns, np.rint(known).astype(np.int64) * NS_PER_US)


def _leave_out_empty(
    dropped: dict[DropReason, int], layout: SeriesLayout, empty: NDArray[np.bool_], series: NDArray[np.uint32]
) -> None:
    """An empty cell is no sample that was dropped: there was none."""
    is_empty = empty[layout.first]
    absent = {
        DropReason.NO_VALUE: int(is_empty.sum() - is_empty[series].sum()),
        DropReason.DUPLICATE: int(empty[layout.displaced].sum()),
    }
    for reason, count in absent.items():
        if (left := dropped.pop(reason, 0) - count) > 0:
            dropped[reason] = left


def _names(header: bytes) -> list[str]:
    if header.lstrip()[:1] in (b"", b"<", b"{", b"["):
        raise BadInput("expected a header with the names of columns, found HTML, JSON or nothing", "not_exposition")
    if len(header) > HEADER_BYTES_MAX:
        raise BadInput(f"header of {len(header)} bytes: expected at most {HEADER_BYTES_MAX}", "too_large")
    try:
        names = next(csv.reader([header.decode("utf-8-sig")], strict=True), [])
    except (UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"header: {error}", "not_exposition") from None
    if len(names) > COLUMNS_MAX:
        raise BadInput(f"{len(names)} columns: expected at most {COLUMNS_MAX}", "too_large")
    if len(names) < 2:
        raise BadInput(
            f"header {names[0][:80]!r}: expected names of columns with commas between them", "not_exposition"
        )
    return [name.strip() for name in names]


def _cells(rows: bytes, width: int) -> pl.DataFrame:
    """All cells as text, null for an empty one; columns are named by their places."""
    schema = {str(place): pl.String() for place in range(width)}
    lines = rows.rstrip().count(b"\n") + 1
    if not rows.strip():
        return pl.DataFrame(schema=schema)
    if rows.count(b",") < lines * (width - 1):  # polars would make room for all cells of all lines
        raise BadInput(f"rows of {width} columns: one of {lines} has fewer", "bad_format")
    try:
        return pl.read_csv(rows, has_header=False, schema=schema)
    except pl.exceptions.PolarsError as error:
        raise BadInput(f"rows of {width} columns: {str(error).partition(chr(10))[0][:200]}", "bad_format") from None


def _numbers(texts: pl.Series) -> NDArray[np.float64]:
    """NaN for what is no number."""
    numbers: NDArray[np.float64] = texts.str.strip_chars().cast(pl.Float64, strict=False).fill_null(np.nan).to_numpy()
    return numbers
