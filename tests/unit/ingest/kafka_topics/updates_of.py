"""What was read of gnmic's messages, one update after the other, however it was read."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from common.wire.hashed_bytes import UNKNOWN
from ingest.collectors.gnmi.decode.known_updates import KnownUpdates
from ingest.collectors.gnmi.decode.scan import ValueKind
from ingest.collectors.gnmi.decode.slots import PathSlots
from ingest.collectors.kafka_topics.decode.responses import Responses
from telemetry.gnmi import gnmi_pb2

Update = tuple[int, bytes, int, object]
"""Time, path as protobuf writes it, kind of the value, and the value: what the decoder of the device makes of both."""
_NUMBERS = ("int_val", "uint_val", "bool_val", "double_val")


class _Paths(PathSlots):
    """In place of a decoder's: it keeps the paths themselves."""

    def __init__(self) -> None:
        super().__init__(lambda raw: None, lambda raw: None, 1 << 30)
        self.written: list[bytes] = []

    def slot(self, prefix: bytes, path: bytes, *, is_leaf: bool) -> int:
        assert (prefix, is_leaf) == (b"", True)
        if path not in self.written:
            self.written.append(path)
        return self.written.index(path)


def responses_of(into: Responses, *sources: str) -> list[bytes]:
    """The messages of these sources, none of which is in columns: what plain readers add."""
    found: list[bytes] = []
    for part in (part for source in sources for part in into.by_source[source]):
        assert not isinstance(part, KnownUpdates)
        found.append(part)
    return found


def updates_of(parts: Sequence[bytes | KnownUpdates]) -> list[Update]:
    """Of one source. A message without updates is one without path and value, and its deletes."""
    return [update for part in parts for update in (_known(part) if isinstance(part, KnownUpdates) else _sent(part))]


def messages_of(parts: Sequence[bytes | KnownUpdates]) -> int:
    return sum(part.messages if isinstance(part, KnownUpdates) else 1 for part in parts)


def _known(part: KnownUpdates) -> list[Update]:
    paths = _Paths()
    slots: NDArray[np.int32] = part.known.slots(part.paths, paths)
    assert slots.min() > UNKNOWN
    columns = (slots, part.kinds, part.numbers, part.times_ns, part.texts)
    found: list[Update] = []
    for slot, kind, number, time_ns, (at, size) in zip(*(column.tolist() for column in columns), strict=True):
        value: object = part.data[at : at + size].decode() if kind == ValueKind.TEXT else repr(number)
        found.append((time_ns, paths.written[slot], kind, value))
    return found


def _sent(message: bytes) -> list[Update]:
    notification = gnmi_pb2.SubscribeResponse.FromString(message).update
    found: list[Update] = []
    for update in notification.update:
        name = update.val.WhichOneof("value") or ""
        value = getattr(update.val, name)
        kind = ValueKind.NUMBER if name in _NUMBERS else ValueKind.TEXT if name == "string_val" else ValueKind.OTHER
        path = update.path.SerializeToString()
        found.append((notification.timestamp, path, kind, repr(float(value)) if name in _NUMBERS else value))
    if not notification.update:
        found.append((notification.timestamp, message, ValueKind.OTHER, None))
    return found
