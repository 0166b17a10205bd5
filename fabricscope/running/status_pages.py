"""``/-/healthy``, ``/-/ready`` and ``/metrics`` of a stage that is no API, on a port of its own, in a thread."""

import json
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from common.errors import ConfigError
from fabricscope.api.problem import Problem

if TYPE_CHECKING:
    from wsgiref.types import StartResponse, WSGIEnvironment

_UNREAD_S = 30.0
_TEXT, _JSON = ("Content-Type", "text/plain; charset=utf-8"), ("Content-Type", "application/json")


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Handler(WSGIRequestHandler):
    timeout = _UNREAD_S

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what is asked is no event of ours."""


class StatusPages:
    """Serves from ``start`` on. not_ready: why the stage cannot work now, None when it can; called in threads.

    The answers are those of the API: 200 and a line of text, or 503 with the reason in the form of all errors.
    """

    def __init__(self, host: str, port: int, not_ready: Callable[[], str | None]) -> None:
        self._host, self._port, self._not_ready = host, port, not_ready
        self._metrics = make_wsgi_app()

    def start(self) -> None:
        """ConfigError when it cannot listen."""
        try:
            _Server.address_family = socket.getaddrinfo(self._host, self._port)[0][0]
            server = make_server(self._host, self._port, self._answer, _Server, _Handler)
        except OSError as error:
            raise ConfigError(f"global.metrics_host, global.metrics_ports: {self._port}: {error.strerror}") from error
        threading.Thread(target=server.serve_forever, name="status-pages", daemon=True).start()

    def _answer(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        path = environ.get("PATH_INFO", "")
        if path == "/-/healthy":
            start_response("200 OK", [_TEXT])
            return [b"Fabricscope is healthy.\n"]
        if path != "/-/ready":
            page: Iterable[bytes] = self._metrics(environ, start_response)  # on every other path, as the library does
            return page
        problem = self._not_ready()
        if problem is None:
            start_response("200 OK", [_TEXT])
            return [b"Fabricscope is ready.\n"]
        start_response("503 Service Unavailable", [_JSON])
        return [json.dumps(asdict(Problem("error", "unavailable", problem))).encode()]
