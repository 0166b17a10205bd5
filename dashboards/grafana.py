"""Boards into a running Grafana, by its HTTP API: a folder, and ``POST /api/dashboards/db`` for each board.

A board is known by its uid, so that pushing again replaces it. Source: Grafana's documentation, HTTP API, of dashboards
and of folders.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from common.errors import ConfigError, Unavailable
from common.http import HttpAnswer, HttpClient

ANSWER_BYTES_MAX = 64 * 1024
EXPLANATION_CHARS_MAX = 300
MESSAGE = "pushed by fabricscope"


@dataclass(frozen=True, slots=True)
class Pushed:
    """What Grafana made of a board. path: on Grafana's host. version: it grows with each push that changes it."""

    uid: str
    path: str
    version: int


class GrafanaClient:
    """One Grafana. url: its address, with the path below which it is served. authorization: the header's value.

    Each call raises Unavailable when Grafana does not answer or is busy, ConfigError when it refuses.
    """

    def __init__(self, http: HttpClient, url: str, authorization: str) -> None:
        self._http, self._url = http, url.rstrip("/")
        self._headers = {"Authorization": authorization, "Accept": "application/json"}

    async def push(self, boards: Sequence[dict[str, Any]], folder_uid: str, folder_title: str) -> AsyncIterator[Pushed]:
        """Makes the folder where it is missing, and puts each board into it."""
        await self._make_folder(folder_uid, folder_title)
        for board in boards:
            yield await self._push(board, folder_uid)

    async def _make_folder(self, uid: str, title: str) -> None:
        address = f"{self._url}/api/folders"
        answer = await self._http.get(f"{address}/{quote(uid)}", self._headers, body_bytes_max=ANSWER_BYTES_MAX)
        if answer.status != 404:
            _check(answer, f"folder {uid}")
            return
        _check(await self._post(address, {"uid": uid, "title": title}), f"folder {uid}")

    async def _push(self, board: dict[str, Any], folder_uid: str) -> Pushed:
        document = {
            "dashboard": {**board, "id": None},  # Grafana's own number of it: there its uid decides
            "folderUid": folder_uid,
            "overwrite": True,
            "message": MESSAGE,
        }
        answer = await self._post(f"{self._url}/api/dashboards/db", document)
        stored = _check(answer, f"board {board['uid']}")
        try:
            return Pushed(str(stored["uid"]), str(stored["url"]), int(stored["version"]))
        except (KeyError, TypeError, ValueError) as error:
            raise Unavailable(f"board {board['uid']}: this is no answer of Grafana") from error

    async def _post(self, address: str, document: Mapping[str, Any]) -> HttpAnswer:
        headers = {**self._headers, "Content-Type": "application/json"}
        body = json.dumps(document).encode()
        return await self._http.post(address, body, headers, body_bytes_max=ANSWER_BYTES_MAX)


_WHY = {
    400: "Grafana does not accept it; one that is provisioned from a file cannot be pushed",
    401: "Grafana does not know the token",
    403: "the token may not do this: it needs the role Editor",
    404: "there is no such path: expected the address of Grafana, with the path below which it is served",
    412: "another board has its name or uid, or a plugin owns it",
}


def _check(answer: HttpAnswer, what: str) -> dict[str, Any]:
    """The answer's document."""
    if answer.accepted:
        try:
            found = json.loads(answer.body)
        except ValueError as error:
            raise Unavailable(f"{what}: this is no answer of Grafana") from error
        return found if isinstance(found, dict) else {}
    why = _WHY.get(answer.status, "Grafana refuses it")
    message = f"{what}: {why} ({answer.status}: {answer.explanation(EXPLANATION_CHARS_MAX)})"
    raise (Unavailable if answer.is_busy else ConfigError)(message)
