"""Pieces of messages for the compiled scans. JSON is as Go writes it: no blanks, maps in the order of their keys."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled_uncounted
from common.wire.spans import stands
from ingest.collectors.kafka_topics.decode.stops import PLAIN

QUOTE, COMMA, MINUS, COLON, CLOSE, FEED = 0x22, 0x2C, 0x2D, 0x3A, 0x7D, 0x0A
TRUE, FALSE = np.frombuffer(b"true", np.uint8), np.frombuffer(b"false", np.uint8)
_ZERO, _BACKSLASH = 0x30, 0x5C
_IS_PLAIN = np.array([0x20 <= byte <= 0x7E and byte not in b"\\&<>" for byte in range(256)])


@compiled_uncounted
def after(buf: NDArray[np.uint8], at: int, end: int, text: NDArray[np.uint8]) -> int:
    """The offset after this text, PLAIN where it does not stand."""
    return at + text.size if stands(buf, at, end, text, 0, text.size) else PLAIN


@compiled_uncounted
def text_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """Where the quote behind a text is that begins at ``at``."""
    while at < end and buf[at] != QUOTE:
        at += 2 if buf[at] == _BACKSLASH else 1
    return at if at < end else PLAIN


@compiled_uncounted
def object_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """The offset after an object of texts whose brace is before ``at``. It is right only where its bytes are known."""
    while at < end and buf[at] != CLOSE:
        if buf[at] == QUOTE:
            at = text_end(buf, at + 1, end)
            if at < 0:
                return PLAIN
        at += 1
    return at + 1 if at < end else PLAIN


@compiled_uncounted
def is_plain(buf: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether it is a text that can be written in no other way."""
    while at < end and _IS_PLAIN[buf[at]]:
        at += 1
    return at >= end


@compiled_uncounted
def plain_end(buf: NDArray[np.uint8], at: int, end: int) -> int:
    """Where the quote behind such a text is that begins at ``at``; PLAIN for any other text."""
    while at < end and buf[at] != QUOTE and _IS_PLAIN[buf[at]]:
        at += 1
    return at if at < end and buf[at] == QUOTE else PLAIN


@compiled_uncounted
def follows(buf: NDArray[np.uint8], key: int, size: int, last: int, last_size: int) -> bool:
    """Whether a key comes after the last one, as in what Go writes; so none comes twice."""
    for i in range(min(size, last_size)):
        if buf[key + i] != buf[last + i]:
            return bool(buf[key + i] > buf[last + i])
    return size > last_size


@compiled_uncounted
def has_zeros(buf: NDArray[np.uint8], at: int, end: int) -> bool:
    """Whether a number has zeros before it, which JSON does not allow."""
    if at < end and buf[at] == MINUS:
        at += 1
    return bool(at + 1 < end and buf[at] == _ZERO and np.uint8(buf[at + 1] - _ZERO) < 10)
