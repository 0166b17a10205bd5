"""How a gRPC server ends a call: its status, in the header blocks that say it. Pure.

https://grpc.github.io/grpc/core/md_doc_statuscodes.html
"""

from base64 import b64encode
from enum import IntEnum
from functools import cache, lru_cache
from urllib.parse import quote

from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration
from hpack import Encoder

from ingest.transport.refusals import RefusalReason

_MESSAGE_CHARACTERS_MAX = 1000
_PRINTABLE = "".join(map(chr, range(0x20, 0x7F))).replace("%", "")


class Status(IntEnum):
    """Those that we send."""

    OK = 0
    INVALID_ARGUMENT = 3
    DEADLINE_EXCEEDED = 4
    PERMISSION_DENIED = 7
    RESOURCE_EXHAUSTED = 8
    UNIMPLEMENTED = 12
    INTERNAL = 13
    UNAVAILABLE = 14


class Refused(Exception):
    """A call ends with this status.

    after_s: when the same may be tried again. reason: what the server counts it as, None where its handler counts.
    """

    def __init__(
        self, status: Status, message: str, *, after_s: float | None = None, reason: RefusalReason | None = None
    ) -> None:
        super().__init__(message)
        self.status, self.message, self.after_s, self.reason = status, message, after_s, reason


@cache
def response_headers() -> bytes:
    """Before the message of an answer."""
    return _block([(":status", "200"), *_ABOUT])


@lru_cache(maxsize=256)
def trailers(status: Status, message: str, after_s: float | None, *, alone: bool) -> bytes:
    """The end of an answer. after_s: when to try again, as OTLP says it. alone: nothing came before them."""
    pairs = [(":status", "200"), *_ABOUT] if alone else []
    pairs.append(("grpc-status", str(int(status))))
    if message:
        pairs.append(("grpc-message", quote(message[:_MESSAGE_CHARACTERS_MAX], safe=_PRINTABLE)))
    if after_s is not None:
        details = status_message(message, status, after_s)
        pairs.append(("grpc-status-details-bin", b64encode(details).decode().rstrip("=")))
    return _block(pairs)


def status_message(message: str, status: Status | None = None, after_s: float | None = None) -> bytes:
    """A serialised google.rpc.Status, with RetryInfo where there is a time to try again."""
    code = b"" if status is None else bytes([0x08, status])
    found = code + _field(2, message[:_MESSAGE_CHARACTERS_MAX].encode())
    if after_s is None:
        return found
    delay = Duration()
    delay.FromNanoseconds(int(after_s * 1e9))
    info = Any(type_url="type.googleapis.com/google.rpc.RetryInfo", value=_field(1, delay.SerializeToString()))
    return found + _field(3, info.SerializeToString())


_ABOUT = (("content-type", "application/grpc"), ("grpc-accept-encoding", "identity,deflate,gzip"))


def _block(pairs: list[tuple[str, str]]) -> bytes:
    """Without a dynamic table, so that it is the same on all connections, whatever table the client has."""
    encoder = Encoder()
    encoder.header_table_size = 0
    return encoder.encode(pairs)


def _field(number: int, data: bytes) -> bytes:
    """A length-delimited field; the messages here are shorter than 16 KiB."""
    size = bytes([len(data)]) if len(data) < 0x80 else bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data
