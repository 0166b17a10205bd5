"""What gnmic wrote, as messages of the devices: what its formats have in common."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import orjson

from common.errors import BadInput, ConfigError
from ingest.collectors.gnmi.decode.known_updates import KnownUpdates
from ingest.collectors.gnmi.paths.elements import parse_path
from telemetry.gnmi import gnmi_pb2

MALFORMED, NO_SOURCE = "malformed", "no_source"
PATHS_MAX = 2_000_000  # of all devices, that a reader remembers, in 300 bytes each; beyond it all are forgotten
_ORIGIN = re.compile(r"/[\w-]+:/")  # in events, gnmic puts a slash before the origin
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1


@dataclass(slots=True)
class Responses:
    """What some messages hold. by_source: serialised SubscribeResponses of each source, and updates that scans read in
    place of such, in their order.

    dropped: parts of messages that are of no use, by reason.
    """

    by_source: dict[str, list[bytes | KnownUpdates]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)

    def add(self, source: str, response: bytes | KnownUpdates) -> None:
        self.by_source.setdefault(source, []).append(response)


class Reader(Protocol):
    """Of one format. Not shared between threads."""

    def read(self, message: bytes, into: Responses) -> None:
        """Adds what a message holds. BadInput when it is none of this format."""
        ...

    def read_all(self, messages: Sequence[bytes], into: Responses) -> int:
        """As all of these would be read by ``read``; how many are none of this format."""
        ...


def parts_of(message: bytes) -> list[object]:
    """Those of a JSON message: gnmic writes a list, or one of them. BadInput when it is neither."""
    try:
        document = orjson.loads(message)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"expected JSON: {error}", MALFORMED) from None
    if isinstance(document, dict):
        return [document]
    if not isinstance(document, list):
        raise BadInput("expected an object or a list of them", MALFORMED)
    return document


def response_at(time_ns: object) -> gnmi_pb2.SubscribeResponse:
    """An empty one of a time. BadInput when it is none."""
    if type(time_ns) is not int or not 0 < time_ns <= _INT_MAX:
        raise BadInput("timestamp: expected nanoseconds", MALFORMED)
    response = gnmi_pb2.SubscribeResponse()
    response.update.timestamp = time_ns
    return response


def source_of(named: object) -> str:
    if not named or not isinstance(named, str):
        raise BadInput("source: expected the device that was asked", NO_SOURCE)
    return named


def path_of(text: str) -> gnmi_pb2.Path:
    """BadInput when it is malformed."""
    try:
        return parse_path(text.removeprefix("/") if _ORIGIN.match(text) else text)
    except ConfigError as error:
        raise BadInput(str(error), MALFORMED) from None


def set_value(typed: gnmi_pb2.TypedValue, value: object) -> None:
    if isinstance(value, str):
        typed.string_val = value
    elif isinstance(value, bool):
        typed.bool_val = value
    elif isinstance(value, float):
        typed.double_val = value
    elif isinstance(value, int) and _INT_MIN <= value <= _INT_MAX:
        typed.int_val = value
    elif isinstance(value, int) and 0 <= value <= _UINT_MAX:
        typed.uint_val = value
    else:
        typed.json_val = orjson.dumps(value)
