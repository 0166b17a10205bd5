"""JSON documents that repeat but for their numbers, read by comparing bytes.

SONiC answers a path with one object of some thousand numbers as text. The first document is decoded and flattened. The
bytes between its numbers become a template; in a document that matches it, the n-th number belongs to a known series.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import orjson
from numpy.typing import NDArray

from ingest.collectors.gnmi.decode.flatten import Put
from ingest.collectors.gnmi.decode.json_scan import match
from ingest.collectors.gnmi.paths.metadata import MetadataPath
from ingest.collectors.gnmi.paths.resolve import Resolved
from ingest.ledger import DropReason

_NUMBERS_MIN = 16
_BYTES_MAX = 16 * 1024 * 1024  # of all templates of a target
_FAILURES_MAX = 8
# Every string, so that no text is mistaken for syntax, and the number that it is the key of.
_TOKEN = re.compile(
    rb'"(?:[^"\\]|\\.)*+"(?:\s*+:\s*+("?)(-?[0-9]{1,19}+(?:\.[0-9]{1,19}+)?+(?:[eE][-+]?[0-9]{1,3}+)?+)\1(?=\s*+[,}]))?+'
)


@dataclass(frozen=True, slots=True)
class JsonValues:
    """The content of a document that matched a template: columns in the document's order, drops and metadata texts."""

    rows: NDArray[np.int32]
    values: NDArray[np.float64]
    drops: Counter[DropReason]
    texts: Sequence[tuple[MetadataPath, str]]


@dataclass(frozen=True, slots=True)
class LeafValues:
    """The leaves of one flattened document.

    rows: of the series. values, numbers: a fixed value and -1, or 0.0 and which number of the document is the value.
    """

    rows: list[int] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    drops: Counter[DropReason] = field(default_factory=Counter)
    texts: list[tuple[MetadataPath, str]] = field(default_factory=list)

    def add_number(self, row: int, number: int) -> None:
        self.rows.append(row)
        self.values.append(0.0)
        self.numbers.append(number)

    def add_fixed(self, rows: Sequence[int], values: Sequence[float]) -> None:
        self.rows.extend(rows)
        self.values.extend(values)
        self.numbers.extend([-1] * len(rows))


class JsonTemplate:
    """The shape of one document, and where each of its numbers goes in the columns (after their end: nowhere)."""

    def __init__(self, body: bytes, spans: Sequence[tuple[int, int]], leaves: LeafValues) -> None:
        starts = [0, *(end for _, end in spans)]
        ends = [*(start for start, _ in spans), len(body)]
        parts = [body[start:end] for start, end in zip(starts, ends, strict=True)]
        self._static = np.frombuffer(b"".join(parts), np.uint8)
        self._ends = np.cumsum([len(part) for part in parts])
        self._indices = np.full(len(spans), len(leaves.rows))
        for place, number in enumerate(leaves.numbers):
            if number >= 0:
                self._indices[number] = place
        self._rows = np.array(leaves.rows, np.int32)
        self._values = np.array([*leaves.values, 0.0])
        self._drops, self._texts = leaves.drops, leaves.texts
        self.size = self._static.size + 16 * len(spans)
        self.worked = False
        self.failures = 0

    def read(self, body: NDArray[np.uint8]) -> JsonValues | None:
        """None for a document of another shape, or with a number that this parser does not round exactly."""
        values = self._values.copy()
        if not match(body, self._static, self._ends, self._indices, values):
            self.failures += 1
            return None
        self.worked = True
        return JsonValues(self._rows, values[:-1], self._drops, self._texts)


class JsonTemplates:
    """The templates of one target's documents, by the slot of their path."""

    def __init__(self) -> None:
        self._known: dict[int, JsonTemplate] = {}
        self._bytes = 0

    def clear(self) -> None:
        """Forgets all templates; call it when rows have moved."""
        self._known.clear()
        self._bytes = 0

    def read(self, slot: int, body: NDArray[np.uint8]) -> JsonValues | None:
        template = self._known.get(slot)
        return None if template is None else template.read(body)

    def wants(self, slot: int) -> bool:
        """Whether to learn a document that ``read`` did not match: not when its shape changes every time."""
        known = self._known.get(slot)
        return known is None or known.worked or known.failures > _FAILURES_MAX

    def learn(self, slot: int, template: JsonTemplate) -> None:
        before = self._known.pop(slot, None)
        self._bytes -= before.size if before is not None else 0
        if self._bytes + template.size <= _BYTES_MAX:
            self._known[slot] = template
            self._bytes += template.size


def template_of(
    body: bytes, flatten: Callable[[object, Put], None], add_leaf: Callable[[Resolved, object, LeafValues], None]
) -> JsonTemplate | None:
    """The template of a document; None when it is too small or cannot have one.

    flatten: visits all leaves of a decoded document in their order. add_leaf: adds a leaf with a fixed scalar.
    """
    spans = _numbers_of(body)
    while spans is not None:
        leaves, words = LeafValues(), set[int]()

        def put(leaf: Resolved, scalar: object, leaves: LeafValues = leaves, words: set[int] = words) -> None:
            number = _number_of(scalar)
            if number < 0:
                add_leaf(leaf, scalar, leaves)
            elif isinstance(leaf, MetadataPath) or (leaf is not None and leaf.states):
                words.add(number)  # read as a word, so it is part of the shape
            elif leaf is not None and leaf.row >= 0:
                leaves.add_number(leaf.row, number)

        try:
            document = orjson.loads(_with_placeholders(body, spans))
        except orjson.JSONDecodeError:
            return None
        flatten(document, put)
        if not words:
            return JsonTemplate(body, spans, leaves)
        spans = [span for number, span in enumerate(spans) if number not in words]
    return None


def _numbers_of(body: bytes) -> list[tuple[int, int]] | None:
    """Spans of the numbers that are values of keys; None for few numbers, and for lists: their entries hold keys."""
    if b"[" in body:
        return None
    spans = [match.span(2) for match in _TOKEN.finditer(body) if match[2] is not None]
    return spans if len(spans) >= _NUMBERS_MIN else None


def _with_placeholders(body: bytes, spans: Sequence[tuple[int, int]]) -> bytes:
    """The document with a placeholder for each number: flattening it shows which number is at which leaf."""
    parts, at = [], 0
    for number, (start, end) in enumerate(spans):
        quoted = body[start - 1 : start] == b'"'
        parts.append(body[at : start - quoted])
        parts.append(b'"\\u0000%d"' % number)
        at = end + quoted
    return b"".join((*parts, body[at:]))


def _number_of(scalar: object) -> int:
    """Which number a placeholder stands for, -1 for any other scalar."""
    if isinstance(scalar, str) and scalar[:1] == "\0" and scalar[1:].isdecimal():
        return int(scalar[1:])
    return -1
