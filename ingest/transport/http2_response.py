"""What a server sends on the connection of one gRPC call: frames in, messages and replies out. Pure."""

from ingest.transport import http2_frames as frames
from ingest.transport.grpc_messages import CallEnded, MessageReader, ended_with_status
from ingest.transport.http2_frames import STREAM_ID, Flood, FrameReader, Headers, Http2Error, number_frame
from telemetry.samples import DownReason

_HEADERS_BYTES_MAX = 65_536
_HEADER_BLOCKS_MAX = 16
"""A response has one, before it a few that are interim, and trailers. Each may cost milliseconds."""
_ANY_STREAM = (frames.PRIORITY_FRAME, frames.SETTINGS, frames.PING, frames.GOAWAY)
_KNOWN = frames.CONTINUATION


class ResponseReader(FrameReader):
    """The receiving half of a call. ``feed`` it bytes, then look at ``messages`` and ``pop_replies``.

    window: bytes that the peer may send before we credit them; half of it is credited at a time.
    goaway: its message in GOAWAY, or ''.
    """

    def __init__(self, window: int, message_bytes_max: int) -> None:
        super().__init__(_HEADERS_BYTES_MAX)
        self._window = window
        self._uncredited_bytes = 0
        self._header_blocks = 0
        self._messages = MessageReader(message_bytes_max)
        self.goaway = ""

    @property
    def messages(self) -> list[bytes]:
        """Messages that ``pop_messages`` has not given yet."""
        return self._messages.messages

    def pop_messages(self) -> list[bytes]:
        return self._messages.pop()

    def feed(self, data: bytes | memoryview) -> None:
        """More of the connection. Raises CallEnded when the peer ends the call, ValueError for what is not HTTP/2."""
        try:
            super().feed(data)
        except Flood as error:
            raise CallEnded(DownReason.TOO_LARGE, str(error)) from error
        if 2 * self._uncredited_bytes > self._window:
            for stream in (0, STREAM_ID):
                self._replies += number_frame(frames.WINDOW_UPDATE, stream, self._uncredited_bytes)
            self._uncredited_bytes = 0

    def _check_stream(self, kind: int, stream: int) -> None:
        """We open one stream and allow no push, so every other one is idle (sections 5.1, 6)."""
        is_open = stream == STREAM_ID or (kind == frames.WINDOW_UPDATE and not stream)
        if not is_open and kind <= _KNOWN and kind not in _ANY_STREAM:
            raise Http2Error(f"a frame of type {kind} on stream {stream}, which is not open")

    def _read_data(self, stream: int, length: int, data: bytes, at: int, end: int) -> None:
        if stream != STREAM_ID:
            self._check_stream(frames.DATA, stream)
        self._uncredited_bytes += length
        if at == end:
            self._count_idle()
        elif end - at < frames.SMALL_FRAME_BYTES and self._messages.is_within_message:
            before = len(self.messages)
            self._messages.feed(data, at, end)
            if len(self.messages) == before:
                self._count_idle()
        else:
            self._messages.feed(data, at, end)

    def _end_stream(self, stream: int) -> None:
        raise CallEnded(DownReason.CLOSED, "the target ended the stream without a status")

    def _read_reset(self, stream: int, code: int) -> None:
        raise CallEnded(DownReason.CLOSED, f"the target reset the stream: code {code}")

    def _read_goaway(self, body: bytes) -> None:
        last, code = int.from_bytes(body[:4], "big") & 0x7FFFFFFF, int.from_bytes(body[4:8], "big")
        self.goaway = f"the target sent GOAWAY: code {code} {body[8:200].decode('utf-8', 'replace')}".strip()
        if code or last < STREAM_ID:  # else what has begun may go on to its end
            raise CallEnded(DownReason.CLOSED, self.goaway)

    def _read_settings(self, body: bytes) -> None:
        """They bound what we send, which is little."""

    def _read_credit(self, stream: int, size: int) -> None:
        """For what we send, which is little."""

    def _read_headers(self, stream: int, headers: Headers) -> None:
        self._header_blocks += 1
        if self._header_blocks > _HEADER_BLOCKS_MAX:
            raise Http2Error(f"more than {_HEADER_BLOCKS_MAX} header blocks")
        found = dict(headers)
        if b"grpc-status" in found:
            raise ended_with_status(_shown(found[b"grpc-status"]), _shown(found.get(b"grpc-message", b"")))
        status = found.get(b":status", b"200")
        if status != b"200":
            reason = DownReason.AUTH if status in (b"401", b"403") else DownReason.HTTP_STATUS
            raise CallEnded(reason, f"HTTP status {_shown(status)}")


def _shown(value: bytes) -> str:
    """A header's value is octets, which need not be text."""
    return value.decode("utf-8", "backslashreplace")
