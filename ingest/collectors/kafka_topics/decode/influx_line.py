"""Telegraf's influx line protocol to slots, times and values: the series that are new are shown to ``PushedSeries``.

A series is a field of a measurement with some tags, known by their bytes; ``fields.named`` says what it is called.
"""

import re
from collections.abc import Hashable, Sequence

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode.fields import MALFORMED, TEXT, FieldReader, Lines, named
from ingest.collectors.kafka_topics.decode.scan_lines import scan_lines
from ingest.collectors.kafka_topics.decode.stops import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.joined import joined

_INT_MAX = 2**63 - 1
_TIME_DIGITS_MAX = 20
Fields = list[tuple[bytes, bytes]]
_WORDS = {
    **dict.fromkeys((b"t", b"T", b"true", b"True", b"TRUE"), 1.0),
    **dict.fromkeys((b"f", b"F", b"false", b"False", b"FALSE"), 0.0),
}
_NUMBER = re.compile(rb"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\Z")
_WHOLE = re.compile(rb"-?\d+\Z")
_UNESCAPED = {mark: re.compile(rb"(?:[^\\" + mark + rb"]|\\.|\\\Z)+", re.DOTALL) for mark in (b",", b"=", b" ")}
# Texts may hold line breaks; nothing else does.
_HEAD = re.compile(rb"((?:[^\\ \n]|\\[^\n])+) ")
_FIELD = re.compile(rb'((?:[^\\,= \n]|\\[^\n])+)=("(?:[^"\\]|\\.)*"|[^", \n]+)', re.DOTALL)
_TIME = re.compile(rb" (-?\d+)\r?(?:\n|\Z)")
_ESCAPE = re.compile(rb"\\([,= \\])")


class LineReader(FieldReader[bytes]):
    """A series is known by the bytes of measurement and tags, and by those of the field."""

    def read(self, message: bytes, into: Lines) -> None:
        """Adds the samples of the lines. A line that cannot be read costs itself alone."""
        at = 0
        while at < len(message):
            at = self._read_line(message, at, len(message), into)

    def read_all(self, messages: Sequence[bytes], into: Lines) -> int:
        """As all of these would be read by ``read``; 0, as a message is a number of lines."""
        all_of_them = joined(messages)
        data, buf, ends = all_of_them.data, all_of_them.buf, all_of_them.ends
        message, at, why = 0, 0, PLAIN
        while why != DONE:
            tables = *self._written.arrays, self._written.heads_after, (*self._columns,)
            n, texts, message, at, why = scan_lines(buf, ends, message, at, *tables)
            self._take(n, texts, data, into)
            if why == PLAIN or (why == FULL and n == 0):
                at = self._read_line(data, at, int(ends[message]), into)
        return 0

    def _read_line(self, data: bytes, at: int, stop: int, into: Lines) -> int:
        """Adds the line at ``at`` of a message that ends at ``stop``; returns where the next one begins."""
        end = data.find(b"\n", at, stop)
        end = stop if end < 0 else end
        line, following = data[at:end].strip(b"\r "), end + 1
        try:
            if b'"' in line or b"\\" in line:
                head, fields, time_ns, following = _escaped(data, at, stop, following)
                self._add_line(head, fields, time_ns, into)
            elif line and not line.startswith(b"#"):
                self._add_line(*_plain(line), into)
        except BadInput:
            into.dropped[MALFORMED] += 1
        return min(following, stop)

    def _add_line(self, head: bytes, fields: Fields, time_ns: int, into: Lines) -> None:
        """BadInput before any of its samples is added."""
        slots = self._slots_of(head)
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
        into.add(found, time_ns)

    def _named(self, head: Hashable, key: bytes) -> tuple[str, dict[str, str]]:
        assert isinstance(head, bytes)
        measurement, tags = _labels(head)
        return named(measurement, _text(key)), {"job": measurement, **tags}

    def _bytes_of(self, head: Hashable, key: bytes) -> tuple[bytes, bytes]:
        assert isinstance(head, bytes)
        return head, key


def _plain(line: bytes) -> tuple[bytes, Fields, int]:
    """Measurement with tags, fields, and time of a line without escapes and texts."""
    head, _, rest = line.partition(b" ")
    pairs, _, stamp = rest.partition(b" ")
    fields = [(key, value) for key, _, value in (pair.partition(b"=") for pair in pairs.split(b","))]
    if not head or not all(key and value for key, value in fields) or not _WHOLE.match(stamp):
        raise BadInput("expected measurement, tags, fields and a time in nanoseconds", MALFORMED)
    return head, fields, _time(stamp)


def _escaped(data: bytes, at: int, stop: int, following: int) -> tuple[bytes, Fields, int, int]:
    """The same of any line, and where the next one begins: behind ``following`` when a text has line breaks."""
    head = _HEAD.match(data, at, stop)
    fields, at = [], head.end() if head else at
    while found := _FIELD.match(data, at, stop):
        fields.append((found[1], found[2]))
        at = found.end()
        if data[at : at + 1] != b",":
            break
        at += 1
    stamp = _TIME.match(data, at, stop)
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
