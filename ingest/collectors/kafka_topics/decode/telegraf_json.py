"""Telegraf's JSON to slots, times and values: a metric a message, or a batch of them."""

from collections.abc import Hashable, Sequence

import orjson

from common.errors import BadInput
from ingest.collectors.kafka_topics.decode.fields import MALFORMED, TEXT, FieldReader, Lines, named
from ingest.collectors.kafka_topics.decode.scan_metrics import scan_metrics
from ingest.collectors.kafka_topics.decode.stops import DONE, FULL, PLAIN
from ingest.collectors.kafka_topics.joined import joined

_UNITS = ((10**11, 10**9), (10**14, 10**6), (10**17, 10**3))  # a time below it, times that, is in nanoseconds
_INT_MAX = 2**63 - 1
_ESCAPED = ((b"&", rb"\u0026"), (b"<", rb"\u003c"), (b">", rb"\u003e"))  # by Go, which writes JSON for web pages


class JsonReader(FieldReader[str]):
    """A series is known by the measurement, the tags and the field."""

    def read(self, message: bytes, into: Lines) -> None:
        """Adds the samples of a metric, or of ``metrics``. BadInput when the message is neither."""
        try:
            document = orjson.loads(message)
        except orjson.JSONDecodeError as error:
            raise BadInput(f"expected JSON: {error}", MALFORMED) from None
        if not isinstance(document, dict):
            raise BadInput("expected an object: a metric, or a batch of them", MALFORMED)
        metrics = document.get("metrics") if "fields" not in document else [document]
        if not isinstance(metrics, list):
            raise BadInput("expected fields, or a list of metrics", MALFORMED)
        for metric in metrics:
            try:
                self._add_metric(metric, into)
            except BadInput:
                into.dropped[MALFORMED] += 1

    def read_all(self, messages: Sequence[bytes], into: Lines) -> int:
        """As all of these would be read by ``read``; how many are none of this format."""
        all_of_them = joined(messages)
        data, buf, ends = all_of_them.data, all_of_them.buf, all_of_them.ends
        message, why, of_no_use = 0, PLAIN, 0
        while why != DONE:
            tables = *self._written.arrays, self._written.fields_after, (*self._columns,)
            n, texts, message, why = scan_metrics(buf, ends, message, *tables)
            self._take(n, texts, data, into)
            if why == PLAIN or (why == FULL and n == 0):
                try:
                    self.read(messages[message], into)
                except BadInput:
                    of_no_use += 1
                message += 1
        return of_no_use

    def _add_metric(self, metric: object, into: Lines) -> None:
        """BadInput before any of its samples is added."""
        if not isinstance(metric, dict):
            raise BadInput("expected a metric", MALFORMED)
        name, tags, fields = metric.get("name"), metric.get("tags"), metric.get("fields")
        if not name or not isinstance(name, str) or not isinstance(tags, dict) or not isinstance(fields, dict):
            raise BadInput("a metric: expected name, tags and fields", MALFORMED)
        if not all(isinstance(value, str) for value in tags.values()):
            raise BadInput("tags: expected texts", MALFORMED)
        time_ns, head = _time_ns(metric.get("timestamp")), (name, *tags.items())
        slots = self._slots_of(head) or {}
        found: list[tuple[int, float]] = []
        for key, value in fields.items():
            if not isinstance(value, (int, float)):
                into.dropped[TEXT] += 1
                continue
            slot = slots.get(key)
            found.append((self._add(head, key) if slot is None else slot, float(value)))
        into.add(found, time_ns)

    def _named(self, head: Hashable, key: str) -> tuple[str, dict[str, str]]:
        assert isinstance(head, tuple)
        measurement, *tags = head
        return named(measurement, key), {"job": measurement, **dict(tags)}

    def _bytes_of(self, head: Hashable, key: str) -> tuple[bytes, bytes]:
        """As Telegraf writes them: name and tags without the braces around them, and the field without its quotes."""
        assert isinstance(head, tuple)
        measurement, *tags = head
        return _written({"name": measurement, "tags": dict(tags)})[1:-1], _written(key)[1:-1]


def _written(value: object) -> bytes:
    text = orjson.dumps(value)
    for char, escape in _ESCAPED:
        text = text.replace(char, escape)
    return text


def _time_ns(time: object) -> int:
    """A time in ``json_timestamp_units`` 1s, 1ms, 1us or 1ns, known by its size. BadInput for a text.

    >>> _time_ns(1_760_000_000), _time_ns(1_760_000_000_000_000)
    (1760000000000000000, 1760000000000000000)
    """
    if type(time) is not int or time < 0:
        raise BadInput("timestamp: expected a whole number", MALFORMED)
    time_ns = next((time * scale for below, scale in _UNITS if time < below), time)
    if time_ns > _INT_MAX:
        raise BadInput("timestamp: expected a time of this age", MALFORMED)
    return time_ns
