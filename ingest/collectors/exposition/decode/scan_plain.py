"""The same passes as ``scan_numba`` in plain Python, for a machine without numba."""

import numpy as np

from ingest.collectors.exposition.decode.line import LINE_BYTES_MAX, parse_number, parse_tail
from ingest.collectors.exposition.decode.template import BLANKS, CLEAR, CONSTANT, BodyTemplate, Floats, Ints, Rows


def match(template: BodyTemplate, body: bytes) -> Floats | None:
    """All tokens of a body that looks like its template, else None. Raises nothing."""
    lines = body.split(b"\n")
    if len(lines) != len(template.lines):
        return None
    tokens: list[float] = []
    try:
        for line, (head, numbers) in zip(lines, template.lines, strict=True):
            if not numbers:
                if line != head:
                    return None
                continue
            if not line.startswith(head) or len(line) > LINE_BYTES_MAX:
                return None
            found = parse_tail(line[len(head) :], openmetrics=template.exemplars)
            if len(found) != numbers:
                return None
            tokens.extend(found)
    except ValueError:
        return None
    return np.array(tokens, dtype=np.float64)


def scan(body: bytes, known: dict[bytes, int], lines_max: int) -> Ints | None:
    """The columns of ``Spans`` as int64[n, 7]; None for more than ``lines_max`` sample lines."""
    rows: list[tuple[int, ...]] = []
    start = 0
    for line in body.split(b"\n"):
        end = start + len(line)
        first = line.lstrip(BLANKS)[:1]
        if first and first != b"#":
            if len(rows) == lines_max:
                return None
            rows.append(_row(line, start, end, known))
        start = end + 1
    return np.array(rows, dtype=np.int64).reshape(-1, 7)


def _row(line: bytes, start: int, end: int, known: dict[bytes, int]) -> tuple[int, ...]:
    """A line whose last word is a number after known bytes is that series; all others are parsed exactly."""
    head, _, value = line.rpartition(b" ")
    series = known.get(head, -1) if len(line) <= LINE_BYTES_MAX else -1
    try:
        parse_number(value)
    except ValueError:
        series = -1
    return series, start, end, end - len(value), end, -1, -1


def finish(
    tokens: Floats, entries: Ints, scale: Floats, bounds: Floats, sentinels: Floats, values: Floats, rows: Rows
) -> tuple[int, int, int]:
    """As in ``scan_numba``, with numpy."""
    token, row, bit = entries
    low, high, saturated = bounds
    raw = np.where(bit == CONSTANT, 1.0, tokens[token])
    absent = np.isnan(raw)
    for first, last in sentinels:
        absent |= (first <= raw) & (raw <= last)
    masked = (bit >= 0) | (bit <= CLEAR)
    with np.errstate(invalid="ignore", over="ignore"):
        part = raw * scale
        whole = np.where(masked & (raw >= 0) & (raw < 9.0e18), raw, 0.0).astype(np.int64)
        bits = (whole >> np.where(masked, np.maximum(bit, CLEAR - bit), 0) & 1) == (bit >= 0)
        absent |= masked & ~((raw >= 0) & (raw < 9.0e18))
        part = np.where(masked, bits, part)
        starts = np.flatnonzero(np.r_[True, row[1:] != row[:-1]]) if row.size else np.zeros(0, dtype=np.int64)
        total = np.add.reduceat(np.where(absent, np.nan, part), starts) if row.size else np.zeros(0)
    of_row = row[starts]
    missing = np.isnan(total)
    outside = ~missing & ((total < low[of_row]) | (total > high[of_row]) | (total == saturated[of_row]))
    good = ~missing & ~outside
    kept = int(good.sum())
    values[:kept], rows[:kept] = total[good], of_row[good]
    return kept, int(missing.sum()), int(outside.sum())
