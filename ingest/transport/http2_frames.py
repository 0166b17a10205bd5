"""Frames of HTTP/2 as both ends of a connection read them (RFC 9113). Pure."""

from abc import ABC, abstractmethod
from struct import Struct

from hpack import Decoder, HPACKError, OversizedHeaderListError

DATA, HEADERS, PRIORITY_FRAME, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9
END_STREAM = ACK = 1
END_HEADERS, PADDED, PRIORITY = 4, 8, 32
NO_ERROR, PROTOCOL_ERROR, FLOW_CONTROL_ERROR, REFUSED_STREAM, CANCEL = 0, 1, 3, 7, 8
COMPRESSION_ERROR, ENHANCE_YOUR_CALM = 9, 11
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_BYTES_MAX, WINDOW_DEFAULT = 16_384, 65_535
WINDOW_MAX = 2**31 - 1
MAX_STREAMS, INITIAL_WINDOW, MAX_FRAME_BYTES, MAX_HEADERS_BYTES = 3, 4, 5, 6
"""Settings: of how many streams, of a stream's window, of a frame, of a list of headers."""
ENABLE_PUSH = 2
STREAM_ID = 1
"""The one stream of a connection that we open: its first."""

IDLE_FRAMES_MAX, IDLE_FRAMES_PER_S = 1000, 100
"""Frames without a byte of a message that a peer may send at once, and in the long run. A server sends a few at the
beginning, then at most a ping a second; in a flood each costs the event loop a microsecond (CVE-2019-9512, -9515,
-9518, CVE-2024-27316)."""
SMALL_FRAME_BYTES = 1024
"""DATA below this that neither begins nor ends a message counts as a frame without data: a peer splits a message by
16 KiB, or where its window ends."""

_KNOWN_BLOCKS_MAX, _KNOWN_BYTES_MAX = 4, 256
"""Header blocks that are not unpacked again; larger ones may stand for kilobytes each, on every connection."""
_HEAD = Struct(">HBBBI")
_ID_BITS = 0x7FFFFFFF
_SIZES = {PRIORITY_FRAME: 5, RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}
_OF_CONNECTION = (SETTINGS, PING, GOAWAY)
_OF_STREAM = (DATA, HEADERS, PRIORITY_FRAME, RST_STREAM, CONTINUATION)

Headers = list[tuple[bytes, bytes]]


class Http2Error(ValueError):
    """What the peer sent ends the connection. code: HTTP/2's own for the fault."""

    def __init__(self, message: str, code: int = PROTOCOL_ERROR) -> None:
        super().__init__(message)
        self.code = code


class Flood(Http2Error):
    """More of what costs us work and carries nothing than a peer may send."""

    def __init__(self, message: str) -> None:
        super().__init__(message, ENHANCE_YOUR_CALM)


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """One frame on the wire.

    >>> frame(PING, ACK, 0, b"12345678").hex()
    '0000080601000000003132333435363738'
    """
    return _HEAD.pack(len(body) >> 8, len(body) & 255, kind, flags, stream) + body


def number_frame(kind: int, stream: int, number: int) -> bytes:
    """A frame that carries one number of four bytes: WINDOW_UPDATE, RST_STREAM."""
    return frame(kind, 0, stream, number.to_bytes(4, "big"))


def settings_frame(*settings: tuple[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in settings))


class FrameReader(ABC):
    """The receiving half of a connection; what frames mean for a client and for a server is in its subclasses.

    headers_bytes_max: of a header block, packed and unpacked.
    frames_read: how many were whole. settings_received: the peer has sent SETTINGS, so it speaks HTTP/2.
    """

    def __init__(self, headers_bytes_max: int) -> None:
        self._headers_bytes_max = headers_bytes_max
        self._decoder = Decoder(max_header_list_size=headers_bytes_max)
        self._known_blocks: dict[bytes, Headers] = {}
        self._unread = b""
        self._header_block: bytearray | None = None
        self._header_stream, self._header_ends_stream = 0, False
        self._replies = bytearray()
        self._idle_frames_left = float(IDLE_FRAMES_MAX)
        self.frames_read = 0
        self.settings_received = False

    def pop_replies(self) -> bytes:
        """Frames to send back: acknowledgements, and credit for what was read."""
        replies = bytes(self._replies)
        self._replies.clear()
        return replies

    def allow_idle_frames(self, passed_s: float) -> None:
        """Time has passed, in which frames without data may have come."""
        self._idle_frames_left = min(IDLE_FRAMES_MAX, self._idle_frames_left + passed_s * IDLE_FRAMES_PER_S)

    def feed(self, data: bytes | memoryview) -> None:
        """More of the connection. Raises Http2Error for what ends it.

        What came before the end is kept: messages and replies are there all the same.
        """
        data = self._unread + data
        at, size = 0, len(data)
        while size - at >= 9:
            high, low, kind, flags, stream = _HEAD.unpack_from(data, at)
            length = high << 8 | low
            if length > FRAME_BYTES_MAX:
                raise Http2Error(f"a frame of {length} bytes")
            start, end = at + 9, at + 9 + length
            if end > size:
                break
            stream &= _ID_BITS
            self.frames_read += 1
            if kind == DATA and self._header_block is None:
                if flags & PADDED:
                    start, padded_end = _unpadded(data, start, end)
                else:
                    padded_end = end
                self._read_data(stream, length, data, start, padded_end)
                if flags & END_STREAM:
                    self._end_stream(stream)
            else:
                self._read(kind, flags, stream, data[start:end])
            at = end
        self._unread = data[at:]

    def _read(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        if self._header_block is not None and kind != CONTINUATION:
            raise Http2Error("a header block that is cut off")
        self._check(kind, flags, stream, len(body))
        self._count_idle()
        if kind == HEADERS:
            start, end = _unpadded(body, 0, len(body)) if flags & PADDED else (0, len(body))
            self._header_block = bytearray(body[start + 5 if flags & PRIORITY else start : end])
            self._header_stream, self._header_ends_stream = stream, bool(flags & END_STREAM)
            self._unpack_headers(flags)
        elif kind == CONTINUATION:
            if self._header_block is None or stream != self._header_stream:
                raise Http2Error("a continuation without a header block")
            self._header_block += body
            self._unpack_headers(flags)
        elif kind == SETTINGS and not flags & ACK:
            self.settings_received = True
            self._read_settings(body)
            self._replies += frame(SETTINGS, ACK, 0, b"")
        elif kind == PING and not flags & ACK:
            self._replies += frame(PING, ACK, 0, body)
        elif kind == RST_STREAM:
            self._read_reset(stream, int.from_bytes(body, "big"))
        elif kind == GOAWAY:
            self._read_goaway(body)
        elif kind == WINDOW_UPDATE:
            self._read_credit(stream, int.from_bytes(body, "big") & _ID_BITS)

    def _unpack_headers(self, flags: int) -> None:
        assert self._header_block is not None
        if len(self._header_block) > self._headers_bytes_max:
            raise Http2Error(f"a header block of more than {self._headers_bytes_max} bytes", ENHANCE_YOUR_CALM)
        if not flags & END_HEADERS:
            return
        self._count_idle(len(self._header_block) >> 10)  # a long one may cost a millisecond
        block = bytes(self._header_block)
        headers = self._known_blocks.get(block) or self._unpacked(block)
        self._header_block = None
        self._read_headers(self._header_stream, headers)
        if self._header_ends_stream:
            self._end_stream(self._header_stream)

    def _unpacked(self, block: bytes) -> Headers:
        """A client sends one block for all of its calls: what leaves the table as it was is known the next time."""
        table = self._decoder.header_table
        before = table.maxsize, list(table.dynamic_entries)
        try:
            headers = list(self._decoder.decode(block, raw=True))
        except OversizedHeaderListError as error:
            raise Http2Error(f"header block: {error}", ENHANCE_YOUR_CALM) from error
        except HPACKError as error:  # whose text may have an address in memory, so that no two would be the same
            raise Http2Error("a header block that cannot be decoded", COMPRESSION_ERROR) from error
        if (table.maxsize, list(table.dynamic_entries)) != before:
            self._known_blocks.clear()
        elif len(block) <= _KNOWN_BYTES_MAX and len(self._known_blocks) < _KNOWN_BLOCKS_MAX:
            self._known_blocks[block] = headers  # type: ignore[assignment]  # raw: both are bytes
        return headers  # type: ignore[return-value]

    def _count_idle(self, frames: int = 1) -> None:
        self._idle_frames_left -= frames
        if self._idle_frames_left < 0:
            raise Flood(f"more than {IDLE_FRAMES_MAX} frames without data at once, or {IDLE_FRAMES_PER_S} a second")

    def _check(self, kind: int, flags: int, stream: int, size: int) -> None:
        """Http2Error for a frame that RFC 9113 makes an error of the connection. Unknown types are not looked at."""
        if kind == PUSH_PROMISE:
            raise Http2Error("a frame of type PUSH_PROMISE, which was not allowed")
        if (kind in _OF_CONNECTION and stream) or (kind in _OF_STREAM and not stream):
            raise Http2Error(f"a frame of type {kind} on stream {stream}, which is not open")
        self._check_stream(kind, stream)
        wrong = (kind == SETTINGS and (size % 6 or (flags & ACK and size))) or (kind == GOAWAY and size < 8)
        if wrong or size != _SIZES.get(kind, size):
            raise Http2Error(f"a frame of type {kind} of {size} bytes")

    @abstractmethod
    def _check_stream(self, kind: int, stream: int) -> None:
        """Http2Error for a stream on which a frame of this type may not be."""

    @abstractmethod
    def _read_data(self, stream: int, length: int, data: bytes, at: int, end: int) -> None:
        """``data[at:end]`` of DATA on any stream. length: of the frame, padding included, which uses the windows."""

    @abstractmethod
    def _read_headers(self, stream: int, headers: Headers) -> None: ...

    @abstractmethod
    def _end_stream(self, stream: int) -> None:
        """The peer sends no more on it."""

    @abstractmethod
    def _read_reset(self, stream: int, code: int) -> None: ...

    @abstractmethod
    def _read_goaway(self, body: bytes) -> None: ...

    @abstractmethod
    def _read_settings(self, body: bytes) -> None: ...

    @abstractmethod
    def _read_credit(self, stream: int, size: int) -> None: ...


def _unpadded(data: bytes, at: int, end: int) -> tuple[int, int]:
    """Where what is padded begins and ends."""
    if at >= end or data[at] >= end - at:
        raise Http2Error("more padding than frame")
    return at + 1, end - data[at]
