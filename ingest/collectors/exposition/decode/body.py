"""Scrape bodies of one target to canonical samples, in three steps: the same layout as last time (compare, parse
numbers), known series in another order or number (find by name), and new lines (parse exactly).

Pure: state and body in, samples out. The first step costs a few microseconds, the others are for a worker thread.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from common.units import NS_PER_US
from ingest.collectors.event_time import accepted
from ingest.collectors.exposition.decode import scan_plain
from ingest.collectors.exposition.decode.layout import Layout, build_layout
from ingest.collectors.exposition.decode.line import LINE_BYTES_MAX, Line, is_exemplar, parse_line, parse_number
from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.decode.template import (
    EXEMPLAR_BYTES_MAX,
    TOKEN_BYTES_MAX,
    BodyTemplate,
    Floats,
    Ints,
    Spans,
    build_template,
)
from ingest.collectors.series_layout import COMPILED, finish, take
from ingest.ledger import DropReason
from telemetry.catalogue import Source
from telemetry.series import SeriesTable

if COMPILED:
    from ingest.collectors.exposition.decode import scan_numba

SERIES_MAX = 50_000
EXEMPLARS_CHEAP = 100  # half a millisecond
_FORGET_ABOVE = 1000
_INT64, _UINT8 = np.dtype(np.int64), np.dtype(np.uint8)  # made of a type for each page they take 0.1 us
_LINE_BYTES_MAX = LINE_BYTES_MAX - 2 * TOKEN_BYTES_MAX - EXEMPLAR_BYTES_MAX
"""A layout with a longer line is not kept: with other numbers the line might be longer than allowed."""


class BodySamples(NamedTuple):
    """The samples of one body: columns as in SampleBatch, and what was dropped. received = samples + dropped.

    unmapped: lines with a sample of a series that nothing maps. left_out: of one that is left out on purpose.
    """

    table: SeriesTable
    times_ns: NDArray[np.int64]
    series: NDArray[np.uint32]
    values: NDArray[np.float64]
    unmapped: int
    left_out: int
    dropped: dict[DropReason, int]

    @property
    def received(self) -> int:
        return self.values.size + sum(self.dropped.values())


class SeriesMapper(Protocol):
    """What ``Mapper`` does: the canonical series that a source's series feeds."""

    def map(self, name: str, labels: Mapping[str, str], /) -> list[Entry] | None: ...


class BodyReader:
    """Reads the scrape bodies of one target and remembers their layout.

    series_max: sample lines of a body; more is BadInput (``too_many_series``).
    kept_max:   series of a body under their own name, where the mapper keeps what nothing maps.
    compiled:   False reads in plain Python even if numba is installed.
    """

    def __init__(
        self,
        target: str,
        device: str,
        mapper: SeriesMapper,
        *,
        series_max: int = SERIES_MAX,
        kept_max: int = 0,
        sentinels: tuple[tuple[float, float], ...] = (),
        compiled: bool = COMPILED,
    ) -> None:
        self._target, self._device, self._mapper = target, device, mapper
        self._series_max, self._kept_max, self._compiled = series_max, kept_max, compiled
        self._sentinels = np.array(sentinels, dtype=np.float64).reshape(-1, 2)
        self._finish = finish(compiled=compiled)
        self.forget()

    def forget(self) -> None:
        """All that was learned from other bodies."""
        self._known: dict[bytes, int] = {}
        self._entries: list[tuple[Entry, ...] | None] = []
        self._index: tuple[NDArray[np.uint8], Ints, Ints] | None = None
        self._layout: Layout | None = None

    def series(self) -> Iterator[tuple[str, Mapping[str, str], tuple[Entry, ...] | None]]:
        """Each series that was seen, parsed, with what it feeds: () for nothing, None where it is left out."""
        for text, entries in zip(self._known, self._entries, strict=True):
            line = _parse(b"", 0, text + b" 0", openmetrics=False)
            yield line.name, line.labels, entries

    def read_known(
        self, body: bytes, now_ns: int, *, openmetrics: bool = False, exemplars_max: int = EXEMPLARS_CHEAP
    ) -> BodySamples | None:
        """The samples of a body with the layout of the last one; None for another layout. Cheap.

        exemplars_max: None for a body with more of them too: each is parsed for itself, which takes microseconds.
        """
        layout = self._layout
        if layout is None or layout.template.exemplars != openmetrics:
            return None
        tokens = self._match(layout.template, body, exemplars_max)
        return None if tokens is None else self._samples(layout, tokens, now_ns)

    def read(self, body: bytes, now_ns: int, *, openmetrics: bool = False) -> BodySamples:
        """The samples of any body. Raises BadInput, and then keeps the layout that it knew.

        Reasons: ``not_exposition``, ``bad_format``, ``too_large``, ``too_many_series``, ``truncated`` (OpenMetrics
        without ``# EOF``).
        """
        known = self.read_known(body, now_ns, openmetrics=openmetrics, exemplars_max=self._series_max)
        if known is not None:
            return known
        return self._samples(*self._learn(body, openmetrics), now_ns)

    def _match(self, template: BodyTemplate, body: bytes, exemplars_max: int) -> Floats | None:
        if not self._compiled:
            return scan_plain.match(template, body)
        tokens = np.empty(template.tokens)
        inexact = np.empty((2 * template.tokens if template.exemplars else template.tokens, 3), _INT64)
        view = np.frombuffer(body, _UINT8)
        n_inexact = scan_numba.match(
            view, template.static, template.ends, template.exemplars, template.whole, tokens, inexact
        )
        if n_inexact <= 0:
            return tokens if n_inexact == 0 else None
        if template.exemplars and np.count_nonzero(inexact[:n_inexact, 0] < 0) > exemplars_max:
            return None
        for token, start, end in inexact[:n_inexact].tolist():
            if token < 0:
                if not is_exemplar(body[start:end]):
                    return None
                continue
            try:
                tokens[token] = parse_number(body[start:end])
            except ValueError:
                return None
        return tokens

    def _learn(self, body: bytes, openmetrics: bool) -> tuple[Layout, Floats]:
        _check_exposition(body, openmetrics)
        rows = self._scan(body)
        if len(self._known) > 2 * len(rows) + _FORGET_ABOVE:
            self.forget()  # most of the known series are gone
            rows = self._scan(body)
        self._parse_unknown(body, rows, openmetrics)
        spans = Spans(*(np.ascontiguousarray(rows[:, column]) for column in range(7)))
        template = build_template(body, spans, openmetrics=openmetrics)
        layout = build_layout(template, spans, self._entries, self._target, self._device, self._kept_max)
        tokens = self._match(template, body, self._series_max)
        if tokens is None:  # it has what is not compared, as a very long number
            tokens = _tokens(body, spans)
        longest = (spans.line_end - spans.line).max(initial=0)
        self._layout = layout if longest <= _LINE_BYTES_MAX else None
        return layout, tokens

    def _scan(self, body: bytes) -> Ints:
        found: Ints | None
        if not self._compiled:
            found = scan_plain.scan(body, self._known, self._series_max)
        else:
            found = np.empty((min(body.count(b"\n") + 1, self._series_max), 7), dtype=np.int64)
            count = scan_numba.scan(np.frombuffer(body, dtype=np.uint8), *self._names(), found)
            found = None if count == scan_numba.TOO_MANY else found[:count]
        if found is None:
            raise BadInput(f"more than {self._series_max} series", "too_many_series")
        return found

    def _names(self) -> tuple[NDArray[np.uint8], Ints, Ints]:
        """All known names joined, their ends, and the hash table over them."""
        if self._index is None:
            names = np.frombuffer(b"".join(self._known), dtype=np.uint8)
            ends = np.cumsum([len(name) for name in self._known], dtype=np.int64)
            slots = np.full(1 << (2 * len(self._known) + 1).bit_length(), -1, dtype=np.int64)
            scan_numba.fill_slots(names, ends, slots)
            self._index = names, ends, slots
        return self._index

    def _parse_unknown(self, body: bytes, rows: Ints, openmetrics: bool) -> None:
        """Parses the lines that the scan does not know, fills in their rows and remembers their series."""
        for place in np.flatnonzero(rows[:, 0] < 0).tolist():
            start, end = int(rows[place, 1]), int(rows[place, 2])
            text = body[start:end]
            line = _parse(body, start, text, openmetrics)
            name = text[: line.name_end]
            series = self._known.get(name)
            if series is None:
                entries = self._mapper.map(line.name, line.labels)
                self._entries.append(None if entries is None else tuple(entries))
                series = self._known[name] = len(self._known)
                self._index = None
            value, value_end = line.value_at
            time, time_end = line.time_at or (-1 - start, -1 - start)
            rows[place] = (series, start, end, start + value, start + value_end, start + time, start + time_end)

    def _samples(self, layout: Layout, tokens: Floats, now_ns: int) -> BodySamples:
        table, unmapped = layout.series.table, layout.series.unmapped
        series, values, dropped = take(layout.series, tokens, self._sentinels, self._finish)
        if layout.time is None:
            times_ns = np.empty(values.size, _INT64)
            times_ns.fill(now_ns)
            return BodySamples(table, times_ns, series, values, unmapped, layout.series.left_out, dropped)
        times_ns = _times(tokens, layout.time[series], layout.template.exemplars, now_ns)
        first_ns, last_ns = accepted(now_ns)
        bad = (times_ns < first_ns) | (times_ns > last_ns)
        if bad.any():
            dropped[DropReason.EVENT_TIME] = int(bad.sum())
            times_ns, series, values = times_ns[~bad], series[~bad], values[~bad]
        return BodySamples(table, times_ns, series, values, unmapped, layout.series.left_out, dropped)


def _tokens(body: bytes, spans: Spans) -> Floats:
    """All numbers of a body whose lines are all parsed, in their order."""
    starts = np.stack((spans.value, spans.time), axis=1).ravel()
    ends = np.stack((spans.value_end, spans.time_end), axis=1).ravel()
    pairs = zip(starts[starts >= 0].tolist(), ends[starts >= 0].tolist(), strict=True)
    return np.array([parse_number(body[start:end]) for start, end in pairs], dtype=np.float64)


def _times(tokens: Floats, token: Ints, seconds: bool, now_ns: int) -> NDArray[np.int64]:
    """Timestamps rounded to the microsecond (a float of seconds holds no more); now where there is none."""
    stated = tokens[np.maximum(token, 0)] * (1e6 if seconds else 1e3)
    with np.errstate(invalid="ignore"):
        stated = np.where(np.abs(stated) < 9e15, stated, 0.0)  # beyond is outside the bounds in any case; NaN too
    return np.where(token < 0, now_ns, np.rint(stated).astype(np.int64) * NS_PER_US)


def _check_exposition(body: bytes, openmetrics: bool) -> None:
    first = body.lstrip()[:1]
    if first == b"<" or (first and first < b" "):
        raise BadInput("expected the text format or OpenMetrics, found HTML or binary data", "not_exposition")
    if openmetrics and body[-7:].rstrip(b"\n").rpartition(b"\n")[2] != b"# EOF":
        raise BadInput("expected # EOF at the end of an OpenMetrics body", "truncated")
    early = 0 if body.startswith(b"# EOF\n") else body.find(b"\n# EOF\n") + 1
    if openmetrics and body[early:].startswith(b"# EOF") and body[early + 5 :].strip(b"\n"):
        line = body.count(b"\n", 0, early) + 1
        raise BadInput(f"line {line + 1}: expected nothing behind # EOF", "bad_format")


def _parse(body: bytes, start: int, text: bytes, openmetrics: bool) -> Line:
    try:
        line = parse_line(text, 0, openmetrics=openmetrics)
    except BadInput:
        # Counting lines is linear in the body: done for the message alone.
        parse_line(text, body.count(b"\n", 0, start) + 1, openmetrics=openmetrics)
        raise
    assert line is not None, "the scan mistook a comment for a sample"
    return line


def warm_up() -> None:
    """Compiles or loads the passes over a body, which takes seconds the first time."""
    reader = BodyReader("", "", Mapper(Source("", ""), {}, ()))
    for body in (b"a 1\n", b"b 1\na 1\n"):
        reader.read(body, 0)
