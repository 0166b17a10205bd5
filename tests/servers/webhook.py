"""A local HTTP server that accepts webhooks and misbehaves as a script says."""

import socket
import struct
import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass(frozen=True)
class Answer:
    """How one request is answered. status 0: the connection is reset; -1: no answer before the server stops."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


RESET = Answer(0)
HANG = Answer(-1)


@dataclass(frozen=True)
class Request:
    """One request that arrived. headers: names in lower case."""

    path: str
    headers: dict[str, str]
    body: bytes
    method: str = "POST"


class WebhookServer:
    """Listens on a free port of the loopback from ``start`` to ``stop``.

    script: answers to come, first to last; 200 when it is empty. requests: all that came, misbehaviour or not.
    accepted: those that were answered with 2xx.
    """

    def __init__(self) -> None:
        self.script: deque[Answer] = deque()
        self.requests: list[Request] = []
        self.accepted: list[Request] = []
        self._stopping = threading.Event()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/hook?token=canary-in-address"

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        answer = self.script.popleft() if self.script else Answer()
        if 200 <= answer.status < 300:
            self.accepted.append(request)
        if answer is HANG:
            self._stopping.wait(30)
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    owner: WebhookServer


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.owner.answer(Request(self.path, headers, body, self.command))
        if answer.status <= 0:
            self.close_connection = True
            # RST instead of FIN
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            return
        self.send_response(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    do_GET = do_POST

    def log_message(self, format: str, *args: object) -> None:
        """Quiet."""


@pytest.fixture
def webhook_server() -> Iterator[WebhookServer]:
    """A server that accepts everything until its script says otherwise."""
    server = WebhookServer()
    server.start()
    yield server
    server.stop()
