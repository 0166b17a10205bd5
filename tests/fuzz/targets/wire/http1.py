"""Responses over HTTP/1: a body or a reason, the same in one piece and in several."""

import gzip

from ingest.transport.http1_response import FetchFailed, Response, ResponseReader
from telemetry.samples import DownReason

_BYTES_MAX = 10_000
_OK = b"\3HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
_PACKED = gzip.compress(b"a 1\n" * 9, mtime=0)
SEEDS = (
    _OK + b"Content-Length: 4\r\n\r\na 1\n",
    _OK + b"\r\nuntil closed",
    _OK + b"Transfer-Encoding: chunked\r\n\r\n4\r\na 1\n\r\nA;x=y\r\n0123456789\r\n0\r\nTrailer: x\r\n\r\n",
    _OK + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(_PACKED) + _PACKED,
    b"\3HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n",
    b"\3HTTP/1.1 302 Found\r\nLocation: http://x/\r\n\r\n",
)


def target(data: bytes) -> None:
    """The first byte says into how many pieces the others are cut."""
    pieces, sent = 1 + (data[0] if data else 0) % 8, data[1:]
    whole, cut = _read(sent, 1), _read(sent, pieces)
    if isinstance(whole, Response) and isinstance(cut, Response):
        assert whole == cut


def _read(sent: bytes, pieces: int) -> Response | DownReason:
    reader, step = ResponseReader(_BYTES_MAX, _BYTES_MAX), max(1, -(-len(sent) // pieces))
    try:
        for at in range(0, len(sent), step):
            response = reader.feed(sent[at : at + step])
            if response is not None:
                return response
        return reader.finish()
    except FetchFailed as failure:
        return failure.reason
