"""An HTTP server for POSTs that answers 200 once the body is in the journal."""

from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.acceptance.crash.outside.journal import Journal

Write = Callable[[Journal, str, Mapping[str, str], bytes], None]
"""(journal, path, headers with names in lower case, body)"""


def serve(path: Path, write: Write) -> None:
    """For ever."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            write(journal, self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        journal = Journal(path, [server.server_address[1]])
        server.serve_forever()
