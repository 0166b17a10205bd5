"""What a client sends on a connection to our server: frames in; calls, their bytes and replies out. Pure."""

from dataclasses import dataclass, field

from ingest.transport import http2_frames as frames
from ingest.transport.http2_frames import (
    FLOW_CONTROL_ERROR,
    WINDOW_MAX,
    Flood,
    FrameReader,
    Headers,
    Http2Error,
    number_frame,
    settings_frame,
)

STREAMS_MAX = 100
"""Calls of one connection at a time; what HTTP/2 recommends at least. A switch has one for each subscription."""
STREAM_WINDOW = 2**20
"""Bytes of one call that its handler has not read yet. 50 MB/s where the way there and back takes 20 ms."""
_CONNECTION_WINDOW = 2**24
"""Credited as it is read, so that a call which waits for its handler does not stop the others."""
HEADERS_BYTES_MAX = 16 * 1024
RESETS_MAX, RESETS_PER_S = 200, 20
"""Calls that a client may open and reset at once, and in the long run (CVE-2023-44487)."""
_IDLE_FRAMES_PER_CALL = 8
"""Frames without data that belong to a call which was answered: a client sends credit and pings for each."""
_LATE_FRAME_BYTES = 64
"""The least that a frame for a call that has ended here counts for."""
_STREAM_CLOSED = 5


@dataclass(slots=True, eq=False)
class Stream:
    """One call. headers: by name. received: bytes that nobody has taken yet. credit: bytes that the client takes of us.

    is_whole: the client has sent all. is_lost: it wants no answer, or is gone.
    unsent, trailers: of the answer, once there is one.
    """

    number: int
    headers: dict[bytes, bytes]
    credit: int
    window: int = STREAM_WINDOW
    received: bytearray = field(default_factory=bytearray)
    uncredited_bytes: int = 0
    small_frames: int = 0
    is_whole: bool = False
    is_lost: bool = False
    unsent: bytes = b""
    trailers: bytes = b""


@dataclass(slots=True)
class Held:
    """Bytes that all calls of a server have sent and no handler has. bytes_max: more than this is not kept."""

    bytes_max: int
    bytes_now: int = 0


class RequestReader(FrameReader):
    """The receiving half of a server's connection.

    ``feed`` it bytes, then look at ``pop_opened``, ``pop_changed`` and ``pop_replies``.

    streams: calls that are open, by number. last_stream: the newest one that was begun. credit: bytes that the client
    takes of us, of all calls. is_closing: no more calls are taken.
    """

    def __init__(self, held: Held) -> None:
        super().__init__(HEADERS_BYTES_MAX)
        self._held = held
        self._preface = frames.PREFACE
        self._opened: list[Stream] = []
        self._changed: dict[Stream, None] = {}
        self._uncredited_bytes = self._late_bytes = 0
        self._resets_left = float(RESETS_MAX)
        self._first_credit = frames.WINDOW_DEFAULT
        self.streams: dict[int, Stream] = {}
        self.last_stream = 0
        self.refused = 0
        self.credit = frames.WINDOW_DEFAULT
        self.is_closing = False

    @staticmethod
    def opening() -> bytes:
        """What a server sends first."""
        settings = settings_frame(
            (frames.MAX_STREAMS, STREAMS_MAX),
            (frames.INITIAL_WINDOW, STREAM_WINDOW),
            (frames.MAX_HEADERS_BYTES, HEADERS_BYTES_MAX),
        )
        return settings + number_frame(frames.WINDOW_UPDATE, 0, _CONNECTION_WINDOW - frames.WINDOW_DEFAULT)

    def pop_opened(self) -> list[Stream]:
        """Calls that have begun since the last look."""
        opened, self._opened = self._opened, []
        return opened

    def pop_changed(self) -> list[Stream]:
        """Calls with bytes, an end or credit since the last look."""
        changed, self._changed = list(self._changed), {}
        return changed

    def pop_refused(self) -> int:
        """How many calls were refused since the last look, as too many are open."""
        refused, self.refused = self.refused, 0
        return refused

    def allow_idle_frames(self, passed_s: float) -> None:
        super().allow_idle_frames(passed_s)
        self._resets_left = min(RESETS_MAX, self._resets_left + passed_s * RESETS_PER_S)

    def feed(self, data: bytes | memoryview) -> None:
        if self._preface:
            begun = bytes(data[: len(self._preface)])
            if not self._preface.startswith(begun):
                raise Http2Error("no preface of HTTP/2")
            self._preface = self._preface[len(begun) :]
            data = data[len(begun) :]
        super().feed(data)
        if 2 * self._uncredited_bytes > _CONNECTION_WINDOW:
            self._replies += number_frame(frames.WINDOW_UPDATE, 0, self._uncredited_bytes)
            self._uncredited_bytes = 0

    def take(self, stream: Stream) -> bytes:
        """What came on it since the last time. Half of its window is credited at a time."""
        data = bytes(stream.received)
        stream.received.clear()
        self._held.bytes_now -= len(data)
        stream.uncredited_bytes += len(data)
        if 2 * stream.uncredited_bytes > STREAM_WINDOW and not (stream.is_whole or stream.is_lost):
            self._replies += number_frame(frames.WINDOW_UPDATE, stream.number, stream.uncredited_bytes)
            stream.window += stream.uncredited_bytes
            stream.uncredited_bytes = 0
        return data

    def count_messages(self, stream: Stream, messages: int) -> None:
        """Of what was taken. Flood for a client that cuts them into small frames; a prefix in its own is usual."""
        few, stream.small_frames = max(0, stream.small_frames - 2 * messages), 0
        self._count_idle(few)

    def close(self, stream: Stream) -> None:
        """It has been answered, or is lost. Idempotent."""
        self._held.bytes_now -= len(stream.received)
        stream.received.clear()
        if self.streams.pop(stream.number, None) is None:
            return
        if stream.is_whole:
            self._idle_frames_left = min(frames.IDLE_FRAMES_MAX, self._idle_frames_left + _IDLE_FRAMES_PER_CALL)
        else:
            self._late_bytes += stream.window  # which the client may have sent before it hears of the end

    def lose_all(self) -> list[Stream]:
        """The client is gone: the calls that were open."""
        lost, self.streams = list(self.streams.values()), {}
        for stream in lost:
            stream.is_lost = True
        return lost

    def _check_stream(self, kind: int, stream: int) -> None:
        if not self.settings_received and kind != frames.SETTINGS:
            raise Http2Error("a connection that does not begin with SETTINGS")
        if kind in (frames.RST_STREAM, frames.WINDOW_UPDATE) and stream > self.last_stream:
            raise Http2Error(f"a frame of type {kind} on stream {stream}, which is not open")

    def _read_data(self, stream: int, length: int, data: bytes, at: int, end: int) -> None:
        self._uncredited_bytes += length
        if self._uncredited_bytes > _CONNECTION_WINDOW:
            raise Http2Error("more DATA than the window of the connection", FLOW_CONTROL_ERROR)
        found = self.streams.get(stream)
        if found is None:
            self._read_late(stream, length)
            return
        if found.is_whole:
            raise Http2Error(f"DATA after the end of stream {stream}", _STREAM_CLOSED)
        found.window -= length
        if found.window < 0:
            raise Http2Error(f"more DATA than the window of stream {stream}", FLOW_CONTROL_ERROR)
        size = end - at
        found.received += data[at:end]
        found.uncredited_bytes += length - size
        self._held.bytes_now += size
        self._changed[found] = None
        if size < frames.SMALL_FRAME_BYTES:
            if size:
                found.small_frames += 1
            else:
                self._count_idle()

    def _read_late(self, stream: int, length: int) -> None:
        if not stream or stream > self.last_stream:
            raise Http2Error(f"a frame of type {frames.DATA} on stream {stream}, which is not open")
        self._late_bytes -= max(length, _LATE_FRAME_BYTES)
        if self._late_bytes < 0:
            self._late_bytes = 0
            self._count_idle()

    def _read_headers(self, stream: int, headers: Headers) -> None:
        if (found := self.streams.get(stream)) is not None:
            if found.is_whole or not self._header_ends_stream:
                raise Http2Error(f"headers within stream {stream}")
            return  # trailers, which say nothing to a gRPC server
        if stream <= self.last_stream:
            return  # of a call that has ended here
        if stream % 2 == 0:
            raise Http2Error(f"a call on stream {stream}, which is a server's")
        self.last_stream = stream
        named = dict(headers)
        if b":method" not in named or b":path" not in named or b":scheme" not in named:
            raise Http2Error("headers that are no request")
        if self.is_closing or len(self.streams) >= STREAMS_MAX:
            self._replies += number_frame(frames.RST_STREAM, stream, frames.REFUSED_STREAM)
            self.refused += 1
            return
        self.streams[stream] = Stream(stream, named, self._first_credit)
        self._opened.append(self.streams[stream])

    def _end_stream(self, stream: int) -> None:
        if (found := self.streams.get(stream)) is not None:
            found.is_whole = True
            self._changed[found] = None

    def _read_reset(self, stream: int, code: int) -> None:
        if (found := self.streams.pop(stream, None)) is None:
            return
        found.is_lost = True
        self._changed[found] = None
        self._resets_left -= 1
        if self._resets_left < 0:
            raise Flood(f"more than {RESETS_MAX} calls reset at once, or {RESETS_PER_S} a second")

    def _read_goaway(self, body: bytes) -> None:
        """The client opens no more calls; those that are open go on."""

    def _read_settings(self, body: bytes) -> None:
        """All are checked; what counts of several values of one key is the last one."""
        values = {
            int.from_bytes(body[at : at + 2], "big"): int.from_bytes(body[at + 2 : at + 6], "big")
            for at in range(0, len(body), 6)
        }
        if values.get(frames.ENABLE_PUSH, 0) > 1 or not (
            frames.FRAME_BYTES_MAX <= values.get(frames.MAX_FRAME_BYTES, frames.FRAME_BYTES_MAX) < 2**24
        ):
            raise Http2Error("settings that no client may have")
        first = values.get(frames.INITIAL_WINDOW, self._first_credit)
        more, self._first_credit = first - self._first_credit, first
        for stream in self.streams.values() if more else ():
            self._give(stream, more)
        if first > WINDOW_MAX:
            raise Http2Error("a window of more than 2^31-1 bytes", FLOW_CONTROL_ERROR)

    def _read_credit(self, stream: int, size: int) -> None:
        if not size:
            raise Http2Error("a WINDOW_UPDATE of nothing")
        if not stream:
            self.credit += size
            if self.credit > WINDOW_MAX:
                raise Http2Error("a window of more than 2^31-1 bytes", FLOW_CONTROL_ERROR)
            self._changed.update(dict.fromkeys(each for each in self.streams.values() if each.unsent))
        elif (found := self.streams.get(stream)) is not None:
            self._give(found, size)

    def _give(self, stream: Stream, size: int) -> None:
        stream.credit += size
        if stream.credit > WINDOW_MAX:
            raise Http2Error("a window of more than 2^31-1 bytes", FLOW_CONTROL_ERROR)
        self._changed[stream] = None
