"""Telegraf's influx line protocol to slots, times and values: the series that are new are shown to ``PushedSeries``.

A series is a field of a measurement with some tags, known by their bytes. Its name is ``<measurement>_<field>``, as in
Telegraf's outputs for Prometheus; the measurement alone for the fields ``value``, ``gauge`` and ``counter``, and the
field alone for the measurement ``prometheus``: so a metric that Telegraf scraped has its own name again.
"""

import re
from array import array
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from common.errors import BadInput
from ingest.collectors.admitted import Admitted
from ingest.collectors.pushed_series import PushedSeries

MALFORMED, TEXT = "malformed", "text"
_INT_MAX = 2**63 - 1
_TIME_DIGITS_MAX = 20
Fields = list[tuple[bytes, bytes]]
_WORDS = {
    **dict.fromkeys((b"t", b"T", b"true", b"True", b"TRUE"), 1.0),
    **dict.fromkeys((b"f", b"F", b"false", b"False", b"FALSE"), 0.0),
}
_PLAIN_FIELDS = frozenset({"value", "gauge", "counter"})
_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\Z")
_WHOLE = re.compile(rb"-?\d+\Z")
_UNESCAPED = {mark: re.compile(rb"(?:[^\\" + mark + rb"]|\\.|\\\Z)+", re.DOTALL) for mark in (b",", b"=", b" ")}
# Texts may hold line breaks; nothing else does.
_HEAD = re.compile(rb"((?:[^\\ \n]|\\[^\n])+) ")
_FIELD = re.compile(rb'((?:[^\\,= \n]|\\[^\n])+)=("(?:[^"\\]|\\.)*"|[^", \n]+)', re.DOTALL)
_TIME = re.compile(rb" (-?\d+)\r?(?:\n|\Z)")
_ESCAPE = re.compile(rb"\\([,= \\])")


@dataclass(slots=True)
class Lines:
    """Samples of some messages as columns, in their order. dropped: lines and fields of no use, by reason."""

    slots: "array[int]" = field(default_factory=lambda: array("q"))
    times_ns: "array[int]" = field(default_factory=lambda: array("q"))
    values: "array[float]" = field(default_factory=lambda: array("d"))
    dropped: Counter[str] = field(default_factory=Counter)


class LineReader:
    """Knows the series of all messages. Used by one thread at a time."""

    def __init__(self, series: PushedSeries) -> None:
        self._series = series
        self._known: dict[bytes, dict[bytes, int]] = {}  # slots of the fields by what stands before them

    def read(self, message: bytes, into: Lines) -> None:
        """Adds the samples of the lines. A line that cannot be read costs itself alone."""
        at = 0
        while at < len(message):
            end = message.find(b"\n", at)
            end = len(message) if end < 0 else end
            line, following = message[at:end].strip(b"\r "), end + 1
            try:
                if b'"' in line or b"\\" in line:
                    head, fields, time_ns, following = _escaped(message, at, following)
                    self._add_line(head, fields, time_ns, into)
                elif line and not line.startswith(b"#"):
                    self._add_line(*_plain(line), into)
            except BadInput:
                into.dropped[MALFORMED] += 1
            at = following

    def admit(self, lines: Lines, now_ns: int) -> Admitted:
        """What the samples become. Forgets series that were silent for long when there is little room."""
        slots = np.frombuffer(lines.slots, np.int64) if lines.slots else np.zeros(0, np.int64)
        times_ns = np.frombuffer(lines.times_ns, np.int64) if lines.slots else np.zeros(0, np.int64)
        values = np.frombuffer(lines.values, np.float64) if lines.slots else np.zeros(0)
        admitted = self._series.admit(slots, times_ns, values, now_ns)
        if (moved := self._series.forget_silent(now_ns)) is not None:
            self._move(moved)
        return admitted

    def _add_line(self, head: bytes, fields: Fields, time_ns: int, into: Lines) -> None:
        """BadInput before any of its samples is added."""
        slots = self._known.get(head)
        if slots is None:
            _labels(head)  # BadInput
            slots = {}
        found: list[tuple[int, float]] = []
        texts = 0
        for key, text in fields:
            value = _value(text)
            if value is None:
                texts += 1
                continue
            slot = slots.get(key)
            found.append((self._add(head, key) if slot is None else slot, value))
        if texts:
            into.dropped[TEXT] += texts
        for slot, value in found:
            into.slots.append(slot)
            into.times_ns.append(time_ns)
            into.values.append(value)

    def _add(self, head: bytes, key: bytes) -> int:
        """The slot of a field that is new; -1 without room for it, which is asked for again each time."""
        if self._series.is_full:
            return -1
        measurement, tags = _labels(head)
        slot = self._series.add(_name(measurement, _text(key)), {"job": measurement, **tags})
        if slot >= 0:
            self._known.setdefault(head, {})[key] = slot
        return slot

    def _move(self, moved: NDArray[np.int64]) -> None:
        new = moved.tolist()
        for head, slots in list(self._known.items()):
            kept = {key: new[slot] for key, slot in slots.items() if new[slot] >= 0}
            if kept:
                self._known[head] = kept
            else:
                del self._known[head]


def _plain(line: bytes) -> tuple[bytes, Fields, int]:
    """Measurement with tags, fields, and time of a line without escapes and texts."""
    head, _, rest = line.partition(b" ")
    pairs, _, stamp = rest.partition(b" ")
    fields = [(key, value) for key, _, value in (pair.partition(b"=") for pair in pairs.split(b","))]
    if not head or not all(key and value for key, value in fields) or not _WHOLE.match(stamp):
        raise BadInput("expected measurement, tags, fields and a time in nanoseconds", MALFORMED)
    return head, fields, _time(stamp)


def _escaped(message: bytes, at: int, following: int) -> tuple[bytes, Fields, int, int]:
    """The same of any line, and where the next one begins: behind ``following`` when a text has line breaks."""
    head = _HEAD.match(message, at)
    fields, at = [], head.end() if head else at
    while found := _FIELD.match(message, at):
        fields.append((found[1], found[2]))
        at = found.end()
        if message[at : at + 1] != b",":
            break
        at += 1
    stamp = _TIME.match(message, at)
    if head is None or not fields or stamp is None:
        raise BadInput("expected measurement, tags, fields and a time in nanoseconds", MALFORMED)
    return head[1], fields, _time(stamp[1]), max(stamp.end(), following)


def _time(stamp: bytes) -> int:
    time_ns = int(stamp) if len(stamp) <= _TIME_DIGITS_MAX else _INT_MAX + 1
    if abs(time_ns) > _INT_MAX:
        raise BadInput("time: expected nanoseconds", MALFORMED)
    return time_ns


def _labels(head: bytes) -> tuple[str, dict[str, str]]:
    """
    >>> _labels(rb"disk\\ io,host=a\\,b,path=/x")
    ('disk io', {'host': 'a,b', 'path': '/x'})
    """
    if head.startswith(b","):
        raise BadInput("expected a measurement", MALFORMED)
    measurement, *pairs = _UNESCAPED[b","].findall(head)
    tags = {}
    for pair in pairs:
        key = _UNESCAPED[b"="].match(pair)
        if key is None or pair[key.end() : key.end() + 1] != b"=":
            raise BadInput("a tag: expected key=value", MALFORMED)
        tags[_text(key[0])] = _text(pair[key.end() + 1 :])
    return _text(measurement), tags


def _text(escaped: bytes) -> str:
    return _ESCAPE.sub(rb"\1", escaped).decode("utf-8", "replace")


def _name(measurement: str, key: str) -> str:
    if measurement == "prometheus":
        return key
    return measurement if key in _PLAIN_FIELDS else f"{measurement}_{key}"


def _value(text: bytes) -> float | None:
    """The number in a field; None for a text. BadInput for what is neither."""
    last = text[-1:]
    if last == b'"':
        return None
    if last in b"iu" and _WHOLE.match(text[:-1]):
        return float(text[:-1])
    if _NUMBER.match(text):
        return float(text)
    word = _WORDS.get(text)
    if word is None:
        raise BadInput("a field: expected a number, a text or a truth value", MALFORMED)
    return word
