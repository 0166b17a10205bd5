"""Grafana's HTTP API of folders and dashboards, as its documentation describes it: enough to be pushed to.

It refuses what Grafana refuses: other tokens (401), tokens of viewers (403), paths below another root (404), boards
without a title or with an unusable uid (400), a folder that is missing (400), a board that is there without
``overwrite`` or under another uid with the same title (412).
"""

import json
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

UID = re.compile(r"[a-zA-Z0-9_-]{1,40}")
EDITOR, VIEWER = "glsa_editor", "glsa_viewer"
Answer = tuple[int, dict[str, Any]]


class GrafanaApi:
    """Listens on a free port of the loopback from ``start`` to ``stop``.

    root: path below which it is served. folders: titles by uid. boards: what was pushed, by uid. busy: answers 503.
    """

    def __init__(self, root: str = "") -> None:
        self.root = root
        self.folders: dict[str, str] = {}
        self.boards: dict[str, dict[str, Any]] = {}
        self.versions: dict[str, int] = {}
        self.folder_of: dict[str, str] = {}
        self.busy = False
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.api = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}{self.root}"

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, authorization: str, body: bytes) -> Answer:
        """Status and document."""
        if self.busy:
            return 503, {"message": "Service unavailable"}
        if not path.startswith(self.root + "/api/"):
            return 404, {"message": "Not found"}
        if authorization not in (f"Bearer {EDITOR}", f"Bearer {VIEWER}"):
            return 401, {"message": "Invalid API key"}
        route = (method, path.removeprefix(self.root))
        if route[0] == "GET" and (folder := re.fullmatch(r"/api/folders/([^/]+)", route[1])):
            uid = folder[1]
            found = self.folders.get(uid)
            return (200, {"uid": uid, "title": found}) if found else (404, {"message": "folder not found"})
        if authorization != f"Bearer {EDITOR}":
            return 403, {"message": "You'll need additional permissions to perform this action."}
        try:
            document = json.loads(body)
        except ValueError:
            return 400, {"message": "bad request data"}
        if route == ("POST", "/api/folders"):
            return self._make_folder(document)
        return self._save(document) if route == ("POST", "/api/dashboards/db") else (404, {"message": "Not found"})

    def _make_folder(self, document: dict[str, Any]) -> Answer:
        uid, title = document.get("uid", ""), document.get("title")
        if not title or not UID.fullmatch(uid):
            return 400, {"message": "folder title cannot be empty, and its uid has illegal characters"}
        if uid in self.folders or title in self.folders.values():
            return 409, {"message": "a folder with the same name already exists in the current location"}
        self.folders[uid] = title
        return 200, {"id": len(self.folders), "uid": uid, "title": title, "url": f"{self.root}/dashboards/f/{uid}/"}

    def _save(self, document: dict[str, Any]) -> Answer:
        board, folder = document.get("dashboard"), document.get("folderUid", "")
        if not isinstance(board, dict) or not board.get("title"):
            return 400, {"message": "Dashboard title cannot be empty"}
        uid = board.get("uid") or ""
        if not UID.fullmatch(uid):
            return 400, {"message": "uid contains illegal characters"}
        if board.get("id") is not None:
            return 404, {"message": "Dashboard not found", "status": "not-found"}
        if folder not in self.folders:
            return 400, {"message": "folder not found"}
        overwrite = document.get("overwrite") is True
        if uid in self.boards and not overwrite:
            return 412, {"message": "The dashboard has been changed by someone else", "status": "version-mismatch"}
        titles = {one["title"]: other for other, one in self.boards.items() if self.folder_of[other] == folder}
        if titles.get(board["title"], uid) != uid and not overwrite:
            return 412, {"message": "A dashboard with the same name already exists", "status": "name-exists"}
        version = self.versions.get(uid, 0) + (self.boards.get(uid) != board)
        self.boards[uid], self.versions[uid], self.folder_of[uid] = board, version, folder
        slug = re.sub(r"[^a-z0-9]+", "-", board["title"].lower())
        stored = {"id": len(self.boards), "uid": uid, "url": f"{self.root}/d/{uid}/{slug}", "slug": slug}
        return 200, {**stored, "status": "success", "version": version}


class _Server(ThreadingHTTPServer):
    api: GrafanaApi


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer("GET", b"")

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Type") != "application/json":
            self._send(400, {"message": "bad request data"})
        else:
            self._answer("POST", body)

    def _answer(self, method: str, body: bytes) -> None:
        self._send(*self.server.api.answer(method, self.path, self.headers.get("Authorization", ""), body))

    def _send(self, status: int, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=UTF-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: the test's output is for failures."""
