"""gRPC's part of a call: messages in a stream of bytes, and the status at its end (gRPC over HTTP/2)."""

from urllib.parse import unquote

from telemetry.samples import Down

_PREFIX = 5


class CallEnded(Exception):
    """The call is over: why, and in whose words."""

    def __init__(self, down: Down, words: str) -> None:
        super().__init__(words)
        self.down, self.words = down, words


class Inbox:
    """Messages, each after a byte that says whether it is compressed and its length; they may cross frames."""

    def __init__(self, message_bytes_max: int) -> None:
        self._bytes_max = message_bytes_max
        self._partial, self._wanted = bytearray(), _PREFIX
        self.messages: list[bytes] = []

    def take(self, data: bytes, at: int, end: int) -> None:
        """More of the stream: ``data[at:end]``. Raises CallEnded for a message that is too large or compressed."""
        if self._partial:
            self._partial += data[at:end]
            if len(self._partial) < self._wanted:
                return
            data, at, end = bytes(self._partial), 0, len(self._partial)
            self._partial.clear()
        wanted = _PREFIX
        while end - at >= _PREFIX:
            wanted = _PREFIX + self._size(data, at)
            if end - at < wanted:
                break
            self.messages.append(data[at + _PREFIX : at + wanted])
            at += wanted
            wanted = _PREFIX
        if at < end:
            self._partial += data[at:end]
            self._wanted = wanted

    def _size(self, data: bytes, at: int) -> int:
        size = int.from_bytes(data[at + 1 : at + _PREFIX], "big")
        if data[at]:
            raise CallEnded(Down.BAD_ENCODING, "a compressed message, which was not asked for")
        if size > self._bytes_max:
            raise CallEnded(Down.TOO_LARGE, f"a message of {size} bytes: at most {self._bytes_max}")
        return size


def ended_by(status: str, words: str) -> CallEnded:
    """gRPC's status in the closed set; https://grpc.github.io/grpc/core/md_doc_statuscodes.html."""
    if status == "0":
        return CallEnded(Down.CLOSED, "the target ended the stream")
    return CallEnded(_BY_STATUS.get(status, Down.CLOSED), unquote(words) or f"gRPC status {status}")


_BY_STATUS = {
    "3": Down.BAD_FORMAT,  # invalid argument
    "4": Down.TIMEOUT,
    "5": Down.BAD_FORMAT,  # not found
    "7": Down.AUTH,  # permission denied
    "8": Down.TOO_LARGE,  # resource exhausted
    "12": Down.BAD_FORMAT,  # unimplemented
    "16": Down.AUTH,  # unauthenticated
}
