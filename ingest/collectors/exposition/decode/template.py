"""What a page looked like last time: its bytes without the numbers, so that the next page only needs comparing."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

PLAIN, CONSTANT = -1, -2
"""Instead of a bit number: the value as it is, and 1 whatever the source says."""


@dataclass(frozen=True)
class Spans:
    """Where the sample lines of one page are: n rows, byte offsets in the page.

    series:             which known series each line is, -1 for a line that has to be read exactly.
    line, line_end:     the line without its line feed.
    value, value_end:   the value. time, time_end: the timestamp, -1 where there is none.
    """

    series: Ints
    line: Ints
    line_end: Ints
    value: Ints
    value_end: Ints
    time: Ints
    time_end: Ints


@dataclass(frozen=True)
class Template:
    """The static bytes of a page, and between them its numbers ("tokens"): a value, or a value and a timestamp a line.

    static:    the bytes before, between and behind the tokens, joined.
    ends:      int64[tokens + 1], where in ``static`` the piece before each token ends, and the last one.
    exemplars: what stands between a line's last token and its end is free (OpenMetrics).
    """

    static: Bytes
    ends: Ints
    exemplars: bool
    pieces: tuple[bytes, ...]

    @property
    def tokens(self) -> int:
        return len(self.ends) - 1

    @cached_property
    def lines(self) -> tuple[tuple[bytes, int], ...]:
        """Each line of the page as the bytes before its first number and its count of numbers, for plain Python."""
        found: list[tuple[bytes, int]] = []
        head, numbers = b"", 0
        for piece in self.pieces:
            first, *others = piece.split(b"\n")
            if others:
                found.append((head, numbers) if numbers else (first, 0))
                found.extend((line, 0) for line in others[:-1])
                head, numbers = others[-1], 0
            elif not numbers:
                head = first
            numbers += 1
        # The piece behind the last number was counted as one more number of an empty last line.
        found.append((head, numbers - 1))
        return tuple(found)


def build_template(page: bytes, spans: Spans, *, openmetrics: bool) -> Template:
    """The template of a page, all of whose lines have been read."""
    pieces: list[bytes] = []
    at = 0
    columns = (spans.value, spans.value_end, spans.time, spans.time_end, spans.line_end)
    for value, value_end, time, time_end, line_end in zip(*(column.tolist() for column in columns), strict=True):
        pieces.append(page[at:value])
        at = value_end
        if time >= 0:
            pieces.append(page[at:time])
            at = time_end
        if openmetrics and page[at:line_end].lstrip().startswith(b"#"):
            at = line_end
    pieces.append(page[at:])
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    return Template(np.frombuffer(b"".join(pieces), dtype=np.uint8), ends, openmetrics, tuple(pieces))
