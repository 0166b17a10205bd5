"""JSON documents that say the same from time to time but for their numbers, read by comparing bytes.

SONiC answers a path with one object of some thousand numbers as text. Its first sight is decoded and walked; what
stands between the numbers is then kept, and as long as it stays, each number's place tells its series.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson
from numpy.typing import NDArray

from common.jit import compiled
from ingest.collectors.gnmi.decode.flatten import Put
from ingest.collectors.gnmi.decode.path_table import differ, signed
from ingest.collectors.gnmi.paths.metadata import Watch
from ingest.collectors.gnmi.paths.resolve import Target
from ingest.ledger import DropReason

_NUMBERS_MIN = 16
_BYTES_MAX = 16 * 1024 * 1024  # of all templates of a target
_FAILURES_MAX = 8
# Every string, so that none is mistaken for what stands around it, and the number that it is the key of.
_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*+"(?:\s*+:\s*+("?)(-?[0-9]{1,19}+(?:\.[0-9]{1,19}+)?+(?:[eE][-+]?[0-9]{1,3}+)?+)\1(?=\s*+[,}]))?+'
)
_MINUS, _PLUS, _DOT, _ZERO, _E = 0x2D, 0x2B, 0x2E, 0x30, 0x65
_POWERS = 10.0 ** np.arange(23)
_EXACT = np.uint64(2**53)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a document of a known shape said. Columns in the order of the document, drops and observed texts."""

    rows: NDArray[np.int32]
    values: NDArray[np.float64]
    drops: Counter[DropReason]
    texts: Sequence[tuple[Watch, str]]


@dataclass(frozen=True, slots=True)
class Said:
    """What one document said when it was walked: rows, and their values or the numbers in the text that give them."""

    rows: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    drops: Counter[DropReason] = field(default_factory=Counter)
    texts: list[tuple[Watch, str]] = field(default_factory=list)

    def number(self, row: int, number: int) -> None:
        self.rows.append(row)
        self.values.append(0.0)
        self.numbers.append(number)

    def fixed(self, rows: Sequence[int], values: Sequence[float]) -> None:
        self.rows.extend(rows)
        self.values.extend(values)
        self.numbers.extend([-1] * len(rows))


class Template:
    """The shape of one document. ``places``: for each number its place in the columns; behind them when nobody asks."""

    def __init__(self, body: bytes, spans: Sequence[tuple[int, int]], said: Said) -> None:
        starts = [0, *(end for _, end in spans)]
        ends = [*(start for start, _ in spans), len(body)]
        parts = [body[start:end] for start, end in zip(starts, ends, strict=True)]
        self._static = np.frombuffer(b"".join(parts), np.uint8)
        self._ends = np.cumsum([len(part) for part in parts])
        self._places = np.full(len(spans), len(said.rows))
        for place, number in enumerate(said.numbers):
            if number >= 0:
                self._places[number] = place
        self._rows = np.array(said.rows, np.int32)
        self._values = np.array([*said.values, 0.0])
        self._drops, self._texts = said.drops, said.texts
        self.size = self._static.size + 16 * len(spans)
        self.worked = False
        self.failures = 0

    def read(self, body: NDArray[np.uint8]) -> Reading | None:
        """None for a document of another shape, or with a number that is not read exactly here."""
        values = self._values.copy()
        if not _match(body, self._static, self._ends, self._places, values):
            self.failures += 1
            return None
        self.worked = True
        return Reading(self._rows, values[:-1], self._drops, self._texts)


class Templates:
    """The documents of one target, by the slot of their path."""

    def __init__(self) -> None:
        self._known: dict[int, Template] = {}
        self._bytes = 0

    def clear(self) -> None:
        """Rows mean something else now."""
        self._known.clear()
        self._bytes = 0

    def read(self, slot: int, body: NDArray[np.uint8]) -> Reading | None:
        template = self._known.get(slot)
        return None if template is None else template.read(body)

    def wants(self, slot: int) -> bool:
        """Whether to learn a document that ``read`` did not know. One that never keeps its shape is left alone."""
        known = self._known.get(slot)
        return known is None or known.worked or known.failures > _FAILURES_MAX

    def learn(self, slot: int, template: Template) -> None:
        before = self._known.pop(slot, None)
        self._bytes -= before.size if before is not None else 0
        if self._bytes + template.size <= _BYTES_MAX:
            self._known[slot] = template
            self._bytes += template.size


def template_of(
    body: bytes, walk: Callable[[object, Put], None], say: Callable[[Target, object, Said], None]
) -> Template | None:
    """The shape of a document; None when it is not worth one or cannot have one.

    walk: visits all leaves of a decoded document in their order; say: adds what a leaf and its scalar mean.
    """
    spans = _numbers_of(body)
    while spans is not None:
        said, words = Said(), set[int]()

        def put(target: Target, scalar: object, said: Said = said, words: set[int] = words) -> None:
            number = _number_of_mark(scalar)
            if number < 0:
                say(target, scalar, said)
            elif isinstance(target, Watch) or (target is not None and target.states):
                words.add(number)  # read as a word: another one is another shape
            elif target is not None and target.row >= 0:
                said.number(target.row, number)

        try:
            document = orjson.loads(_marked(body, spans))
        except orjson.JSONDecodeError:
            return None
        walk(document, put)
        if not words:
            return Template(body, spans, said)
        spans = [span for number, span in enumerate(spans) if number not in words]
    return None


def _numbers_of(body: bytes) -> list[tuple[int, int]] | None:
    """Where the numbers stand that are values of keys; None when there are few, or lists, which have keys within."""
    if b"[" in body:
        return None
    spans = [match.span(2) for match in _TOKEN.finditer(body) if match[2] is not None]
    return spans if len(spans) >= _NUMBERS_MIN else None


def _marked(body: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """The document with a mark for each number: a walk over it tells which leads where."""
    parts, at = [], 0
    for number, (start, end) in enumerate(spans):
        quoted = body[start - 1 : start] == b'"'
        parts.append(body[at : start - quoted])
        parts.append(b'"\\u0000%d"' % number)
        at = end + quoted
    return b"".join((*parts, body[at:]))


def _number_of_mark(scalar: object) -> int:
    """Which number a scalar of a marked document stands for, -1 for one that is itself."""
    if isinstance(scalar, str) and scalar[:1] == "\0" and scalar[1:].isdecimal():
        return int(scalar[1:])
    return -1


@compiled
def _match(
    body: NDArray[np.uint8],
    static: NDArray[np.uint8],
    ends: NDArray[np.int64],
    places: NDArray[np.int64],
    values: NDArray[np.float64],
) -> bool:
    at, begin = 0, 0
    for part in range(ends.size):
        end = ends[part]
        if at + end - begin > body.size:
            return False
        if differ(body[at : at + end - begin], static[begin:end]):
            return False
        at += end - begin
        begin = end
        if part < places.size:
            number, at = _number(body, at)
            if at < 0:
                return False
            values[places[part]] = number
    return bool(at == body.size)


@compiled
def _digits(body: NDArray[np.uint8], at: int, before: np.uint64) -> tuple[np.uint64, int]:
    """The number that these digits make behind those ``before``, and the place behind them."""
    place, size, number = np.uint64(at), np.uint64(body.size), before  # without a sign no index is taken from the end
    while place < size:
        digit = np.uint8(body[place] - _ZERO)
        if digit > 9:
            break
        number = number * np.uint64(10) + np.uint64(digit)
        place += np.uint64(1)
    return number, signed(place)


@compiled
def _number(body: NDArray[np.uint8], at: int) -> tuple[float, int]:
    """A decimal number and the place behind it; -1 when it is none or may be rounded otherwise than float() does.

    Integers of 19 digits are rounded by the hardware; below 2^53 a power of ten up to 22 rounds once (Clinger 1990).
    """
    size = body.size
    negative = at < size and body[at] == _MINUS
    if negative:
        at += 1
    begin = at
    mantissa, at = _digits(body, at, np.uint64(0))
    digits, scale = at - begin, 0
    if at < size and body[at] == _DOT:
        point = at + 1
        mantissa, at = _digits(body, point, mantissa)
        scale = point - at
        digits -= scale
    if digits == 0 or digits > 19:
        return 0.0, -1
    if at < size and (body[at] | 0x20) == _E:
        at += 1
        down = at < size and body[at] == _MINUS
        if at < size and (body[at] == _MINUS or body[at] == _PLUS):
            at += 1
        exponent, start = np.int64(0), at
        while at < size and np.uint8(body[at] - _ZERO) < 10 and exponent < 1000:
            exponent = 10 * exponent + np.int64(body[at] - _ZERO)
            at += 1
        if at == start:
            return 0.0, -1
        scale += int(-exponent if down else exponent)
    value = np.float64(mantissa)
    if scale != 0:
        if mantissa > _EXACT or scale > 22 or scale < -22:
            return 0.0, -1
        if scale > 0:
            value *= _POWERS[scale]
        else:
            value /= _POWERS[-scale]
    return (-value if negative else value), at


def warm() -> None:
    """Compiles the comparison, or loads it from the disk cache."""
    text, none = np.frombuffer(b"", np.uint8), np.zeros(0, np.int64)  # of bytes, as it will be: not to be written to
    _match(text, text, none, none, np.zeros(1))
