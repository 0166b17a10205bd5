"""Corrupt records and reports on their way to the bus."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from bus.base import MESSAGE_BYTES_MAX, Message, Record
from bus.deadletter import DeadLetter, dead_letter, read_letter
from bus.limits import HEADERS_BYTES_MAX, bytes_of
from bus.reporting import publish_report
from common.errors import BadInput, Unavailable
from telemetry import topics
from telemetry.codec.records import decode_record
from telemetry.ledger import StageReport
from telemetry.topics import Topic

RECORD = Record("fabricscope.samples.v1", 3, 4711, 0, b"node1", b"\x00broken", {"table": b"t", "dead.reason": b"old"})
REPORT = StageReport(stage="alerts", instance="host-1", epoch_ns=1, at_ns=2, samples_in=3, samples_out=3)


class Taken:
    """The publishing half of a bus."""

    def __init__(self, error: Exception | None = None) -> None:
        self.messages: list[tuple[str, Message]] = []
        self._error = error

    async def publish(self, topic: Topic, messages: Sequence[Message]) -> None:
        if self._error is not None:
            raise self._error
        bytes_of(messages)
        self.messages += [(topic.name, message) for message in messages]


async def letter_of(record: Record, error: BadInput) -> Message:
    bus = Taken()
    await dead_letter(bus, record, error)  # type: ignore[arg-type]  # it publishes and does nothing else
    ((topic, message),) = bus.messages
    assert topic == topics.DEADLETTER.name
    return message


async def test_the_record_travels_unchanged_with_where_it_was_and_why() -> None:
    letter = await letter_of(RECORD, BadInput("expected 7 columns", "schema"))
    assert (letter.key, letter.value) == (RECORD.key, RECORD.value)
    assert letter.headers == {
        "table": b"t",
        "dead.reason": b"schema",
        "dead.detail": b"expected 7 columns",
        "dead.topic": b"fabricscope.samples.v1",
        "dead.partition": b"3",
        "dead.offset": b"4711",
    }


async def test_a_record_that_is_larger_than_a_message_is_cut() -> None:
    large = replace(RECORD, key=bytes(100_000), value=bytes(MESSAGE_BYTES_MAX + 1))
    letter = await letter_of(large, BadInput("too large", "too_large"))
    assert letter.headers["dead.cut"] == str(MESSAGE_BYTES_MAX + 1).encode()
    assert letter.value is not None
    assert MESSAGE_BYTES_MAX // 2 < len(letter.value) < MESSAGE_BYTES_MAX
    assert letter.headers["dead.lost"] == b"key"


async def test_a_long_explanation_and_large_headers_do_not_make_it_too_large() -> None:
    large = replace(RECORD, headers={"table": bytes(HEADERS_BYTES_MAX - 5)})
    letter = await letter_of(large, BadInput("x" * 100_000, "schema"))
    assert "table" not in letter.headers
    assert letter.headers["dead.lost"] == b"headers"
    assert len(letter.headers["dead.detail"]) == 1024


async def read_back(record: Record) -> DeadLetter:
    letter = await letter_of(record, BadInput("expected 7 columns", "schema"))
    return read_letter(Record(topics.DEADLETTER.name, 0, 17, 5, letter.key, letter.value, dict(letter.headers)))


async def test_a_letter_gives_the_original_back():
    original = replace(RECORD, headers={"table": b"t"})
    letter = await read_back(original)
    assert letter.original == Message(original.key, original.value, original.headers)
    assert (letter.number, letter.at_ns, letter.place) == (17, 5, "fabricscope.samples.v1[3] 4711")
    assert (letter.reason, letter.detail) == ("schema", "expected 7 columns")
    assert (letter.size_bytes, letter.cut) == (7, ())


async def test_a_letter_says_what_was_cut():
    large = Record("t", 0, 1, 0, bytes(100_000), bytes(MESSAGE_BYTES_MAX + 1), {"table": bytes(HEADERS_BYTES_MAX - 5)})
    letter = await read_back(large)
    assert letter.cut == ("value", "key", "headers")
    assert letter.size_bytes == MESSAGE_BYTES_MAX + 1


@pytest.mark.parametrize(
    "headers", [{}, {"dead.partition": b"x", "dead.offset": b"9" * 50, "dead.topic": b"\xff", "dead.cut": b""}]
)
def test_whatever_is_on_the_topic_is_a_letter(headers):
    letter = read_letter(Record("d", 0, 3, 0, b"", None, headers))
    assert (letter.number, letter.partition, letter.offset) == (3, -1, -1)


async def test_a_bus_that_is_away_keeps_the_record_where_it_is() -> None:
    with pytest.raises(Unavailable):
        await dead_letter(Taken(Unavailable("away")), RECORD, BadInput("x"))  # type: ignore[arg-type]


async def test_a_report_replaces_the_one_before_of_the_same_process() -> None:
    bus = Taken()
    await publish_report(bus.publish, REPORT)
    ((topic, message),) = bus.messages
    assert (topic, message.key) == (topics.LEDGER.name, b"alerts/host-1")
    assert decode_record(message.value or b"", StageReport) == REPORT


async def test_a_bus_that_is_away_misses_one_report_and_no_more() -> None:
    await publish_report(Taken(Unavailable("away")).publish, REPORT)
    with pytest.raises(BadInput):
        await publish_report(Taken(BadInput("our own bug")).publish, REPORT)
