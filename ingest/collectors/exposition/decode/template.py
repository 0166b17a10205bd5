"""The bytes of a scrape body without its numbers, so that the next body only has to be compared."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Rows = NDArray[np.uint32]

TOKEN_BYTES_MAX, EXEMPLAR_BYTES_MAX = 512, 4096
"""What is longer is not compared with a template but parsed exactly, where the length of a line is limited."""

BLANKS = b" \t"
PLAIN, CONSTANT, CLEAR = -1, -2, -3
"""In place of a bit number: the value as it is, 1 whatever the source sends, and from -3 on bits (0, 1, …) of which the
canonical value is 1 where they are not set."""


@dataclass(frozen=True)
class Spans:
    """Where the sample lines of one body are: n rows, byte offsets in the body.

    series:             which known series each line is, -1 for a line that has to be parsed exactly.
    line, line_end:     the line without its line feed.
    value, value_end:   the value. time, time_end: the timestamp, -1 without one.
    """

    series: Ints
    line: Ints
    line_end: Ints
    value: Ints
    value_end: Ints
    time: Ints
    time_end: Ints


@dataclass(frozen=True)
class BodyTemplate:
    """The static bytes of a body, and between them its numbers ("tokens"): a value, or a value and a timestamp a line.

    static:    the bytes before, between and after the tokens, joined.
    ends:      int64[tokens + 1], where in ``static`` the piece before each token ends, and the last one.
    exemplars: a line may have an exemplar behind its last token, another one each time (OpenMetrics).
    whole:     uint8[tokens], 1 for a token that has no fraction: a timestamp of the text format.
    """

    static: Bytes
    ends: Ints
    exemplars: bool
    whole: Bytes
    pieces: tuple[bytes, ...]

    @property
    def tokens(self) -> int:
        return len(self.ends) - 1

    @cached_property
    def lines(self) -> tuple[tuple[bytes, int], ...]:
        """Each line of the body as the bytes before its first number and its count of numbers, for plain Python."""
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
        # The piece after the last number was counted as one more number of an empty last line.
        found.append((head, numbers - 1))
        return tuple(found)


def build_template(body: bytes, spans: Spans, *, openmetrics: bool) -> BodyTemplate:
    """The template of a body whose lines have all been parsed."""
    pieces: list[bytes] = []
    whole: list[bool] = []
    at = 0
    columns = (spans.value, spans.value_end, spans.time, spans.time_end, spans.line_end)
    for value, value_end, time, time_end, line_end in zip(*(column.tolist() for column in columns), strict=True):
        pieces.append(body[at:value])
        whole.append(False)
        at = value_end
        if time >= 0:
            pieces.append(body[at:time])
            whole.append(not openmetrics)
            at = time_end
        if openmetrics and body[at:line_end].lstrip(BLANKS).startswith(b"#"):
            at = line_end
    pieces.append(body[at:])
    ends = np.cumsum([len(piece) for piece in pieces], dtype=np.int64)
    static = np.frombuffer(b"".join(pieces), dtype=np.uint8)
    return BodyTemplate(static, ends, openmetrics, np.array(whole, dtype=np.uint8), tuple(pieces))
