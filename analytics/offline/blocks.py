"""Bytes of a file or pipe, in blocks that end where a record of CSV ends."""

import select
from collections.abc import Iterator
from io import RawIOBase
from itertools import chain

from analytics.offline.unpacked import unpacked
from common.errors import BadInput

BLOCK_BYTES = 8 * 1024 * 1024
_RECORD_BYTES_MAX = 64 * 1024 * 1024
_PIPE_BYTES = 1024 * 1024


def blocks(file: RawIOBase, rows_first: int, read: bytes = b"") -> Iterator[bytes]:
    """Blocks of whole records, at most about ``BLOCK_BYTES`` long; what a slow pipe has brought comes at once.

    rows_first: lines that the first block has, unless the file has fewer.
    read: what was read from the file before. Raises BadInput when a quote does not close.
    """
    held, lines_wanted = b"", rows_first
    for arrived in unpacked(chain([read], _arrivals(file))):
        held += arrived
        if lines_wanted and len(held) < BLOCK_BYTES and held.count(b"\n") < lines_wanted:
            continue
        end = _records_end(held)
        if end:
            lines_wanted = 0
            yield held[:end]
            held = held[end:]
        elif len(held) > _RECORD_BYTES_MAX:
            raise BadInput("a quote opens and does not close: expected CSV", "open_quote")
    if held:
        yield held


def _arrivals(file: RawIOBase) -> Iterator[bytes]:
    """What can be read without waiting, up to a block; waits while there is nothing."""
    parts: list[bytes] = []
    size = 0
    while part := file.read(BLOCK_BYTES - size if file.seekable() else _PIPE_BYTES):
        parts.append(part)
        size += len(part)
        if size >= BLOCK_BYTES or not select.select([file], [], [], 0)[0]:
            yield b"".join(parts)
            parts, size = [], 0
    if parts:
        yield b"".join(parts)


def _records_end(held: bytes) -> int:
    """Just past the last line end that is not inside quotes; 0 when there is none."""
    end = held.rfind(b"\n") + 1
    quotes = held.count(b'"', 0, end)
    while end and quotes % 2:
        before = held.rfind(b"\n", 0, end - 1) + 1
        quotes -= held.count(b'"', before, end)
        end = before
    return end
