"""One HTTP/1.1 response from bytes: framing, limits and at most one layer of compression. Pure."""

from collections.abc import Callable
from dataclasses import dataclass

from isal import isal_zlib
from isal.igzip_lib import IsalError

from telemetry.samples import DownReason

HEAD_BYTES_MAX = 64 * 1024
UNPACKED_AT_ONCE_BYTES = 1024 * 1024
"""What takes a millisecond to unpack. A bomb takes up to a tenth of a second: not on the event loop."""
_CHUNK_LINE_MAX = 4096
_GZIP = 16 + 15  # zlib's window bits for the gzip format
_INTERIM_MAX = 8
_MEMBERS_MAX = 16  # servers send one; each further one copies the rest of the body


class FetchFailed(Exception):
    """Why there is no body; the message never holds a secret."""

    def __init__(self, reason: DownReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Response:
    """body: decoded, unless it is packed. framed: whether its length was stated, so that it is known to be whole.

    packed: the body is gzip and more than ``UNPACKED_AT_ONCE_BYTES``: a thread unpacks it, with ``gunzip``.
    """

    content_type: str
    body: bytes
    framed: bool
    packed: bool = False


class ResponseReader:
    """Reads one response.

    raw_bytes_max: of the body as sent. decoded_bytes_max: of the body unpacked.
    closes: whether the connection cannot serve another request.
    Raises FetchFailed as soon as the status, a limit or the framing requires it.
    """

    def __init__(self, raw_bytes_max: int, decoded_bytes_max: int) -> None:
        self._raw_bytes_max, self._decoded_bytes_max = raw_bytes_max, decoded_bytes_max
        self._buffer = bytearray()
        self._step: Callable[[], bytes | None] = self._head
        self._length = self._interim = 0
        self._body = bytearray()
        self._gzip = False
        self._framed = True
        self._content_type = ""
        self._received = 0
        self.closes = False

    def feed(self, data: bytes) -> Response | None:
        """More bytes; the response once it is whole."""
        self._received += len(data)
        if self._received > self._raw_bytes_max + HEAD_BYTES_MAX:
            raise self._too_large()
        if self._buffer or self._step != self._head:
            self._buffer += data
            body = self._step()
        else:
            body = self._first(data)
        return None if body is None else self._response(body)

    def finish(self) -> Response:
        """The peer closed: the end of a body without a length, else an error."""
        if self._step == self._until_close:
            self._framed = False
            return self._response(bytes(self._buffer))
        if not self._received:
            raise FetchFailed(DownReason.CLOSED, "closed without a response")
        raise FetchFailed(DownReason.TRUNCATED, f"closed after {self._received} bytes of a response")

    def _response(self, body: bytes) -> Response:
        packed = False
        if self._gzip:
            at_once = min(self._decoded_bytes_max, UNPACKED_AT_ONCE_BYTES)
            try:
                body = gunzip(body, at_once)
            except FetchFailed as failure:
                packed = failure.reason is DownReason.TOO_LARGE and at_once < self._decoded_bytes_max
                if not packed:
                    raise
        return Response(self._content_type, body, self._framed, packed)

    def _first(self, data: bytes) -> bytes | None:
        """The first bytes: usually the whole response, whose body is then copied once instead of three times."""
        end = data.find(b"\r\n\r\n")
        if end >= 0 and self._read_head(data[:end]) and self._step == self._counted:
            if len(data) - end - 4 == self._length:
                return data[end + 4 :]
        elif end < 0:
            end = -4
        self._buffer += memoryview(data)[end + 4 :]
        return self._step()

    def _head(self) -> bytes | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > HEAD_BYTES_MAX:
                raise FetchFailed(DownReason.TOO_LARGE, f"header of more than {HEAD_BYTES_MAX} bytes")
            return None
        head = bytes(self._buffer[:end])
        del self._buffer[: end + 4]
        self._read_head(head)
        return self._step()

    def _read_head(self, head: bytes) -> bool:
        """Decides how the body is read; False for an interim response, which the final one follows."""
        status, *lines = head.decode("latin-1").split("\r\n")
        words = status.split(" ", 2)
        if not words[0].startswith("HTTP/1.") or len(words) < 2 or not _is_status(words[1]):
            raise FetchFailed(DownReason.NOT_EXPOSITION, "expected an HTTP/1 response")
        if words[1].startswith("1"):
            self._interim += 1
            if self._interim > _INTERIM_MAX:
                raise FetchFailed(DownReason.NOT_EXPOSITION, f"more than {_INTERIM_MAX} interim responses")
            return False
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        self._check_status(int(words[1]))
        self.closes = words[0] == "HTTP/1.0" or headers.get("connection", "").lower() == "close"
        self._frame(headers)
        return True

    def _check_status(self, status: int) -> None:
        if status == 200:
            return
        reasons = {401: DownReason.AUTH, 403: DownReason.AUTH, 407: DownReason.AUTH}
        reason = DownReason.REDIRECT if 300 <= status < 400 else reasons.get(status, DownReason.HTTP_STATUS)
        raise FetchFailed(reason, f"status {status}")

    def _frame(self, headers: dict[str, str]) -> None:
        encoding = headers.get("content-encoding", "").lower()
        if encoding not in ("", "identity", "gzip", "x-gzip"):
            raise FetchFailed(DownReason.BAD_ENCODING, f"content encoding {encoding[:40]!r}: expected gzip or none")
        self._gzip = encoding.endswith("gzip")
        self._content_type = headers.get("content-type", "").lower()
        transfer = headers.get("transfer-encoding", "").lower()
        length = headers.get("content-length")
        if transfer == "chunked":
            self._step = self._chunk
        elif transfer:
            raise FetchFailed(DownReason.BAD_ENCODING, f"transfer encoding {transfer[:40]!r}: expected chunked or none")
        elif length is None:
            self.closes, self._step = True, self._until_close
        elif not (length.isascii() and length.isdigit()):
            raise FetchFailed(DownReason.BAD_FORMAT, "content length: expected a number")
        else:
            self._length = int(length[:20])
            if self._length > self._raw_bytes_max:
                raise self._too_large()
            self._step = self._counted

    def _counted(self) -> bytes | None:
        received = len(self._buffer)
        if received < self._length:
            return None
        if received > self._length:
            self.closes = True  # more than one response to one request
        return bytes(memoryview(self._buffer)[: self._length])

    def _until_close(self) -> bytes | None:
        return None

    def _chunk(self) -> bytes | None:
        """Moves whole chunks from the buffer to the body; ``feed`` bounds how much comes."""
        buffer, at = self._buffer, 0
        try:
            while True:
                line = buffer.find(b"\r\n", at, at + _CHUNK_LINE_MAX)
                if line < 0:
                    if len(buffer) - at >= _CHUNK_LINE_MAX:
                        raise FetchFailed(DownReason.BAD_FORMAT, "chunk: expected its size in a short line")
                    return None
                size = _chunk_size(bytes(buffer[at:line]))
                if size > self._raw_bytes_max:
                    raise self._too_large()
                if size == 0:
                    return self._trailer(line)
                end = line + 2 + size
                if len(buffer) < end + 2:
                    return None
                if buffer[end : end + 2] != b"\r\n":
                    raise FetchFailed(DownReason.BAD_FORMAT, "chunk: expected its end after its size")
                self._body += memoryview(buffer)[line + 2 : end]
                at = end + 2
        finally:
            del buffer[:at]

    def _trailer(self, line: int) -> bytes | None:
        """After the last chunk: header lines, which are ignored, and an empty line."""
        end = self._buffer.find(b"\r\n\r\n", line)
        if end < 0:
            return None
        if len(self._buffer) > end + 4:
            self.closes = True
        return bytes(self._body)

    def _too_large(self) -> FetchFailed:
        return FetchFailed(DownReason.TOO_LARGE, f"body of more than {self._raw_bytes_max} bytes")


def _is_status(word: str) -> bool:
    return len(word) == 3 and word.isascii() and word.isdigit()


def _chunk_size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 8 or digits.strip(b"0123456789abcdefABCDEF"):
        raise FetchFailed(DownReason.BAD_FORMAT, "chunk: expected its size in hexadecimal")
    return int(digits, 16)


def gunzip(data: bytes, bytes_max: int) -> bytes:
    """All members of a gzip body, at most ``bytes_max`` bytes; the bound holds before anything is kept."""
    pieces: list[bytes] = []
    room = bytes_max
    try:
        while data:
            if len(pieces) == _MEMBERS_MAX:
                raise FetchFailed(DownReason.BAD_ENCODING, f"gzip: more than {_MEMBERS_MAX} members")
            member = isal_zlib.decompressobj(_GZIP)
            piece = member.decompress(data, room + 1)
            room -= len(piece)
            if room < 0:
                raise FetchFailed(DownReason.TOO_LARGE, f"more than {bytes_max} bytes unpacked")
            if not member.eof:
                raise FetchFailed(DownReason.TRUNCATED, "gzip body ends early")
            pieces.append(piece)
            data = member.unused_data.lstrip(b"\0")
    except IsalError as error:  # type: ignore[misc] # its stub hides the base class
        raise FetchFailed(DownReason.BAD_ENCODING, f"gzip: {error}") from None
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
