"""One message in a segment: a head with a checksum, then the message with a checksum of its own.

Layout of a head, little endian: crc32 of the rest of it | bytes of the message | topic | samples in it | samples
before it | batches before it | facts and changes before it | when it was spooled, ns. What was before it is counted
through the whole life of a spool: whoever finds the next record behind a damaged one knows what is missing between.
"""

import struct
import zlib
from dataclasses import dataclass, replace

from bus.base import MESSAGE_BYTES_MAX, Message
from bus.embedded.packing import Corrupt, pack, unpack
from bus.limits import HEADERS_BYTES_MAX
from ingest.outgoing import Outgoing
from telemetry import topics

_HEAD = struct.Struct("<IIBIQQQq")
HEAD_BYTES = _HEAD.size
BODY_BYTES_MAX = MESSAGE_BYTES_MAX + 2 * HEADERS_BYTES_MAX
COUNT_MAX = 2**62
"""What no spool ever counts to; sums of two still fit into 64 bits."""
# The number of a topic is part of the format: a topic of a new version gets a new one.
_TOPICS = {1: topics.SAMPLES, 2: topics.TOPOLOGY, 3: topics.CHANGES}
_TARGET = "spool.target"  # a header in the spool alone
_NUMBERS = {topic: number for number, topic in _TOPICS.items()}


@dataclass(frozen=True, slots=True)
class Amount:
    """So many samples in so many batches, and so many facts and changes (``events``)."""

    samples: int = 0
    batches: int = 0
    events: int = 0

    def __bool__(self) -> bool:
        return bool(self.batches or self.events)

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.samples + other.samples, self.batches + other.batches, self.events + other.events)

    def exceeds(self, other: "Amount") -> bool:
        """Whether any of the counts is larger."""
        return self.samples > other.samples or self.batches > other.batches or self.events > other.events

    def beyond(self, other: "Amount") -> "Amount":
        """How much further this is than ``other``; never less than nothing."""
        samples, batches, events = (
            self.samples - other.samples,
            self.batches - other.batches,
            self.events - other.events,
        )
        return Amount(max(0, samples), max(0, batches), max(0, events))


def amount_of(topic: topics.Topic, samples: int) -> Amount:
    """Of one record."""
    return Amount(samples, 1) if topic is topics.SAMPLES else Amount(events=1)


@dataclass(frozen=True, slots=True)
class Head:
    """What is known of a record before its message is read. before: what was spooled earlier, ever."""

    body_bytes: int
    topic: topics.Topic
    samples: int
    before: Amount
    spooled_ns: int

    @property
    def after(self) -> Amount:
        return self.before + amount_of(self.topic, self.samples)


def encode_one(record: Outgoing, before: Amount, spooled_ns: int) -> bytes:
    """Head and message."""
    message = record.message
    if record.target:
        message = replace(message, headers={**message.headers, _TARGET: record.target.encode()})
    body = pack((message,))
    counts = before.samples, before.batches, before.events
    rest = _HEAD.pack(0, len(body), _NUMBERS[record.topic], record.samples, *counts, spooled_ns)[4:]
    return b"".join((zlib.crc32(rest).to_bytes(4, "little"), rest, body))


def decode_head(data: bytes) -> Head | None:
    """None when it is torn or damaged."""
    if len(data) < HEAD_BYTES:
        return None
    checksum, body_bytes, number, samples, *before, spooled_ns = _HEAD.unpack(data)
    if zlib.crc32(memoryview(data)[4:]) != checksum or number not in _TOPICS:
        return None
    if body_bytes > BODY_BYTES_MAX or max(before) > COUNT_MAX:
        return None
    return Head(body_bytes, _TOPICS[number], samples, Amount(*before), spooled_ns)


def decode_body(head: Head, body: bytes) -> Outgoing | None:
    """None when it is torn or damaged."""
    try:
        ((key, value, headers),) = unpack(body)
    except (Corrupt, ValueError):  # damaged, or not one message
        return None
    target = headers.pop(_TARGET, b"").decode(errors="replace")
    return Outgoing(head.topic, Message(key, value, headers), head.samples, target)
