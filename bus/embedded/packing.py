"""Many records as one blob: a row of the embedded log costs the same whether it carries one record or a hundred.

Layout, little endian: crc32 of all that follows | number of records n | 3 n lengths (key, value, headers; value -1 for
a tombstone) | the bytes of all of them in that order. Headers are pairs of name and value with their lengths.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence

from bus.base import Message

_HEAD = struct.Struct("<II")
_HEADER = struct.Struct("<HI")
Packed = tuple[bytes, bytes | None, dict[str, bytes]]


class Corrupt(Exception):
    """The blob is not what was written."""


def pack(messages: Sequence[Message]) -> bytes:
    lengths: list[int] = []
    parts: list[bytes] = []
    for message in messages:
        headers = _pack_headers(message) if message.headers else b""
        value = message.value
        if value is None:
            lengths += (len(message.key), -1, len(headers))
            parts += (message.key, headers)
        else:
            lengths += (len(message.key), len(value), len(headers))
            parts += (message.key, value, headers)
    body = b"".join((struct.pack(f"<I{len(lengths)}i", len(messages), *lengths), *parts))
    return zlib.crc32(body).to_bytes(4, "little") + body


def unpack(blob: object, skip: int = 0) -> Iterator[Packed]:
    """Key, value and headers of the records but the first ``skip``. Raises Corrupt when any of it is damaged.

    blob: as SQLite has it; damage can make it text or NULL.
    """
    if not isinstance(blob, bytes) or len(blob) < _HEAD.size:
        raise Corrupt
    checksum, n = _HEAD.unpack_from(blob)
    if zlib.crc32(memoryview(blob)[4:]) != checksum:
        raise Corrupt
    at = _HEAD.size + 12 * n
    if at > len(blob):
        raise Corrupt
    lengths = struct.unpack_from(f"<{3 * n}i", blob, _HEAD.size)
    if not _fills(lengths, len(blob) - at):
        raise Corrupt
    for i in range(0, 3 * n, 3):
        n_key, n_value, n_headers = lengths[i : i + 3]
        at_value = at + n_key
        at_headers = at_value + max(n_value, 0)
        end = at_headers + n_headers
        if i >= 3 * skip:
            value = blob[at_value:at_headers] if n_value >= 0 else None
            yield blob[at:at_value], value, _unpack_headers(blob, at_headers, end) if n_headers else {}
        at = end


def _pack_headers(message: Message) -> bytes:
    parts: list[bytes] = []
    for name, value in message.headers.items():
        encoded = name.encode()
        parts += (_HEADER.pack(len(encoded), len(value)), encoded, value)
    return b"".join(parts)


def _fills(lengths: Sequence[int], size: int) -> bool:
    """Whether keys, values and headers of these lengths are ``size`` bytes."""
    keys, values, headers = lengths[0::3], lengths[1::3], lengths[2::3]
    if min((*keys, *headers), default=0) < 0 or min(values, default=0) < -1:
        return False
    return sum(keys) + sum(values) + values.count(-1) + sum(headers) == size


def _unpack_headers(blob: bytes, at: int, end: int) -> dict[str, bytes]:
    headers = {}
    try:
        while at < end:
            n_name, n_value = _HEADER.unpack_from(blob, at)
            at_name = at + _HEADER.size
            at = at_name + n_name + n_value
            headers[blob[at_name : at_name + n_name].decode()] = blob[at - n_value : at]
    except (struct.error, UnicodeDecodeError) as error:
        raise Corrupt from error
    if at != end:
        raise Corrupt
    return headers
