"""gRPC's part of a call: messages in a stream of bytes, and the status at its end (gRPC over HTTP/2)."""

from urllib.parse import unquote

from telemetry.samples import DownReason

_PREFIX = 5


class CallEnded(Exception):
    """The call is over. reason: from the closed set; message: the peer's own words, or ours."""

    def __init__(self, reason: DownReason, message: str) -> None:
        super().__init__(message)
        self.reason, self.message = reason, message


class Compressed(bytes):
    """A message as it came, which its receiver has to unpack."""


class MessageReader:
    """Length-prefixed messages from the bytes of DATA frames; a message may cross frames.

    Each message follows one byte that says whether it is compressed and four bytes of length.
    takes_compressed: compressed ones are given as ``Compressed``.
    """

    def __init__(self, message_bytes_max: int, *, takes_compressed: bool = False) -> None:
        self._bytes_max, self._takes_compressed = message_bytes_max, takes_compressed
        self._partial, self._needed = bytearray(), _PREFIX
        self.messages: list[bytes] = []

    @property
    def is_within_message(self) -> bool:
        """Whether a message has begun and is not whole."""
        return bool(self._partial)

    @property
    def partial_bytes(self) -> int:
        """What has come of a message that is not whole."""
        return len(self._partial)

    def pop(self) -> list[bytes]:
        """The messages since the last call."""
        messages, self.messages = self.messages, []
        return messages

    def feed(self, data: bytes, at: int, end: int) -> None:
        """More of the stream: ``data[at:end]``. Raises CallEnded for a message that is too large or compressed."""
        if self._partial:
            self._partial += data[at:end]
            if len(self._partial) < self._needed:
                return
            data, at, end = bytes(self._partial), 0, len(self._partial)
            self._partial.clear()
        needed = _PREFIX
        while end - at >= _PREFIX:
            needed = _PREFIX + self._size(data, at)
            if end - at < needed:
                break
            message = data[at + _PREFIX : at + needed]
            self.messages.append(Compressed(message) if data[at] else message)
            at += needed
            needed = _PREFIX
        if at < end:
            self._partial += data[at:end]
            self._needed = needed

    def _size(self, data: bytes, at: int) -> int:
        size = int.from_bytes(data[at + 1 : at + _PREFIX], "big")
        if data[at] and not self._takes_compressed:
            raise CallEnded(DownReason.BAD_ENCODING, "a compressed message, which was not asked for")
        if size > self._bytes_max:
            raise CallEnded(DownReason.TOO_LARGE, f"a message of {size} bytes: at most {self._bytes_max}")
        return size


def ended_with_status(status: str, message: str) -> CallEnded:
    """gRPC's status in the closed set; https://grpc.github.io/grpc/core/md_doc_statuscodes.html."""
    if status == "0":
        return CallEnded(DownReason.CLOSED, "the target ended the stream")
    return CallEnded(_BY_STATUS.get(status, DownReason.CLOSED), unquote(message) or f"gRPC status {status}")


_BY_STATUS = {
    "3": DownReason.BAD_FORMAT,  # invalid argument
    "4": DownReason.TIMEOUT,
    "5": DownReason.BAD_FORMAT,  # not found
    "7": DownReason.AUTH,  # permission denied
    "8": DownReason.TOO_LARGE,  # resource exhausted
    "12": DownReason.BAD_FORMAT,  # unimplemented
    "16": DownReason.AUTH,  # unauthenticated
}
