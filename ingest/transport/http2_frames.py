"""What a peer sends on the connection of one gRPC call: frames in, messages and replies out (RFC 9113). Pure."""

from struct import Struct

from hpack import Decoder, HPACKError

from ingest.transport.grpc_messages import CallEnded, MessageReader, ended_with_status
from telemetry.samples import DownReason

DATA, HEADERS, PRIORITY_FRAME, RST_STREAM, SETTINGS = 0, 1, 2, 3, 4
PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 5, 6, 7, 8, 9
END_STREAM = ACK = 1
END_HEADERS, PADDED, PRIORITY = 4, 8, 32
FRAME_BYTES_MAX, WINDOW_DEFAULT = 16_384, 65_535
STREAM_ID = 1
"""The one stream of a connection: its first, and opened by us."""

IDLE_FRAMES_MAX, IDLE_FRAMES_PER_S = 1000, 100
"""Frames without a byte of a message that a peer may send at once, and in the long run. A server sends a few at the
beginning, then at most a ping a second; in a flood each costs the event loop a microsecond (CVE-2019-9512, -9515,
-9518, CVE-2024-27316)."""
SMALL_FRAME_BYTES = 1024
"""DATA below this that neither begins nor ends a message counts as a frame without data: a server splits a message by
16 KiB, or where its window ends."""

_HEAD = Struct(">HBBBI")
_HEADERS_BYTES_MAX = 65_536
_HEADER_BLOCKS_MAX = 16
"""A response has one, before it a few that are interim, and trailers. Each may cost milliseconds."""
_OF_STREAM, _OF_CONNECTION, _OF_EITHER = {STREAM_ID}, {0}, {0, STREAM_ID}
_STREAMS = {
    **dict.fromkeys((DATA, HEADERS, RST_STREAM, CONTINUATION), _OF_STREAM),
    **dict.fromkeys((SETTINGS, PING, GOAWAY), _OF_CONNECTION),
    WINDOW_UPDATE: _OF_EITHER,
}
"""Where a frame may be: we open one stream and allow no push, so every other one is idle (sections 5.1, 6)."""
_SIZES = {PRIORITY_FRAME: 5, RST_STREAM: 4, PING: 8, WINDOW_UPDATE: 4}


def frame(kind: int, flags: int, stream: int, body: bytes) -> bytes:
    """One frame on the wire.

    >>> frame(PING, ACK, 0, b"12345678").hex()
    '0000080601000000003132333435363738'
    """
    return _HEAD.pack(len(body) >> 8, len(body) & 255, kind, flags, stream) + body


class FrameReader:
    """The receiving half of a call. ``feed`` it bytes, then look at ``messages`` and ``pop_replies``.

    window: bytes that the peer may send before we credit them; half of it is credited at a time.
    settings_received: the peer has sent SETTINGS, so it speaks HTTP/2. goaway: its message in GOAWAY, or ''.
    """

    def __init__(self, window: int, message_bytes_max: int) -> None:
        self._window = window
        self._uncredited_bytes = 0
        self._unread = b""
        self._header_block: bytearray | None = None
        self._header_block_ends_stream = False
        self._header_blocks = 0
        self._decoder = Decoder(max_header_list_size=_HEADERS_BYTES_MAX)
        self._messages = MessageReader(message_bytes_max)
        self._replies = bytearray()
        self._idle_frames_left = float(IDLE_FRAMES_MAX)
        self.settings_received = False
        self.goaway = ""

    @property
    def messages(self) -> list[bytes]:
        """Messages that ``pop_messages`` has not given yet."""
        return self._messages.messages

    def pop_messages(self) -> list[bytes]:
        messages, self._messages.messages = self._messages.messages, []
        return messages

    def pop_replies(self) -> bytes:
        """Frames to send back: acknowledgements, and credit for what was read."""
        replies = bytes(self._replies)
        self._replies.clear()
        return replies

    def allow_idle_frames(self, passed_s: float) -> None:
        """Time has passed, in which frames without data may have come."""
        self._idle_frames_left = min(IDLE_FRAMES_MAX, self._idle_frames_left + passed_s * IDLE_FRAMES_PER_S)

    def feed(self, data: bytes | memoryview) -> None:
        """More of the connection. Raises CallEnded when the peer ends the call, ValueError for what is not HTTP/2.

        What came before the end is kept: messages and replies are there all the same.
        """
        data = self._unread + data
        at, size = 0, len(data)
        while size - at >= 9:
            high, low, kind, flags, stream = _HEAD.unpack_from(data, at)
            length = high << 8 | low
            if length > FRAME_BYTES_MAX:
                raise ValueError(f"a frame of {length} bytes")
            end = at + 9 + length
            if end > size:
                break
            usual = kind == DATA and stream == STREAM_ID and length and not flags & ~END_STREAM
            if usual and self._header_block is None:
                self._read_data(data, at + 9, end)
            else:
                self._read(kind, flags, stream & 0x7FFFFFFF, data[at + 9 : end])
            self._uncredited_bytes += length if kind == DATA else 0
            if kind == DATA and flags & END_STREAM:
                raise CallEnded(DownReason.CLOSED, "the target ended the stream without a status")
            at = end
        self._unread = data[at:]
        if 2 * self._uncredited_bytes > self._window:
            credit, self._uncredited_bytes = self._uncredited_bytes.to_bytes(4, "big"), 0
            self._replies += frame(WINDOW_UPDATE, 0, 0, credit) + frame(WINDOW_UPDATE, 0, STREAM_ID, credit)

    def _read(self, kind: int, flags: int, stream: int, body: bytes) -> None:
        if self._header_block is not None and kind != CONTINUATION:
            raise ValueError("a header block that is cut off")
        _check(kind, flags, stream, len(body))
        if kind == DATA and (body := _without_padding(body, flags)):
            self._read_data(body, 0, len(body))
            return
        self._count_idle()
        if kind == HEADERS:
            body = _without_padding(body, flags)
            self._header_block = bytearray(body[5:] if flags & PRIORITY else body)
            self._header_block_ends_stream = bool(flags & END_STREAM)
            self._read_headers(flags)
        elif kind == CONTINUATION:
            if self._header_block is None:
                raise ValueError("a continuation without a header block")
            self._header_block += body
            self._read_headers(flags)
        elif kind == SETTINGS and not flags & ACK:
            self.settings_received = True
            self._replies += frame(SETTINGS, ACK, 0, b"")
        elif kind == PING and not flags & ACK:
            self._replies += frame(PING, ACK, 0, body)
        elif kind == RST_STREAM:
            raise CallEnded(DownReason.CLOSED, f"the target reset the stream: code {int.from_bytes(body[:4], 'big')}")
        elif kind == GOAWAY:
            self._read_goaway(body)

    def _read_data(self, data: bytes, at: int, end: int) -> None:
        if end - at < SMALL_FRAME_BYTES and self._messages.is_within_message:
            before = len(self.messages)
            self._messages.feed(data, at, end)
            if len(self.messages) == before:
                self._count_idle()
        else:
            self._messages.feed(data, at, end)

    def _count_idle(self) -> None:
        self._idle_frames_left -= 1
        if self._idle_frames_left < 0:
            raise CallEnded(
                DownReason.TOO_LARGE,
                f"more than {IDLE_FRAMES_MAX} frames without data at once, or {IDLE_FRAMES_PER_S} a second",
            )

    def _read_goaway(self, body: bytes) -> None:
        last, code = int.from_bytes(body[:4], "big") & 0x7FFFFFFF, int.from_bytes(body[4:8], "big")
        self.goaway = f"the target sent GOAWAY: code {code} {body[8:200].decode('utf-8', 'replace')}".strip()
        if code or last < STREAM_ID:  # else what has begun may go on to its end
            raise CallEnded(DownReason.CLOSED, self.goaway)

    def _read_headers(self, flags: int) -> None:
        assert self._header_block is not None
        if len(self._header_block) > _HEADERS_BYTES_MAX:
            raise ValueError(f"a header block of more than {_HEADERS_BYTES_MAX} bytes")
        if not flags & END_HEADERS:
            return
        self._header_blocks += 1
        if self._header_blocks > _HEADER_BLOCKS_MAX:
            raise ValueError(f"more than {_HEADER_BLOCKS_MAX} header blocks")
        try:
            headers = dict[bytes | str, bytes | str](self._decoder.decode(bytes(self._header_block), raw=True))
        except HPACKError as error:
            raise ValueError(f"header block: {error}") from error
        self._header_block = None
        status = headers.get(b":status", b"200")
        if b"grpc-status" in headers:
            raise ended_with_status(_shown(headers[b"grpc-status"]), _shown(headers.get(b"grpc-message", b"")))
        if status != b"200":
            reason = DownReason.AUTH if status in (b"401", b"403") else DownReason.HTTP_STATUS
            raise CallEnded(reason, f"HTTP status {_shown(status)}")
        if self._header_block_ends_stream:
            raise CallEnded(DownReason.CLOSED, "the target ended the stream without a status")


def _check(kind: int, flags: int, stream: int, size: int) -> None:
    """ValueError for a frame that RFC 9113 makes an error of the connection. Unknown types are not looked at."""
    if kind == PUSH_PROMISE:
        raise ValueError("a frame of type PUSH_PROMISE, which was not allowed")
    if stream not in _STREAMS.get(kind, (stream,)):
        raise ValueError(f"a frame of type {kind} on stream {stream}, which is not open")
    wrong = (kind == SETTINGS and (size % 6 or (flags & ACK and size))) or (kind == GOAWAY and size < 8)
    if wrong or size != _SIZES.get(kind, size):
        raise ValueError(f"a frame of type {kind} of {size} bytes")


def _shown(value: bytes | str) -> str:
    """A header's value is octets, which need not be text."""
    return value if isinstance(value, str) else value.decode("utf-8", "backslashreplace")


def _without_padding(body: bytes, flags: int) -> bytes:
    if not flags & PADDED:
        return body
    if not body or body[0] >= len(body):
        raise ValueError("more padding than frame")
    return body[1 : len(body) - body[0]]
