"""Requests to one API, one after another: pages, errors, and where the token comes from."""

import asyncio
import re
from collections.abc import Coroutine, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from pydantic import BaseModel, TypeAdapter, ValidationError

from common.errors import BadInput, ConfigError, Unavailable
from common.http import FailureReason, HttpAnswer, HttpClient, NoAnswer
from common.secrets import bearer
from common.tls import TlsConfig
from fabricscope.client.errors import ApiError

PAGE = 500
ANSWER_BYTES_MAX = 256 * 1024 * 1024
_NEXT = re.compile(r'<(/[^/>][^>]*)>; rel="next"')  # of the same host: a token goes nowhere else
_WHY = {
    FailureReason.REFUSED: "nobody listens there",
    FailureReason.DNS: "no such host",
    FailureReason.CLOSED: "it closed the connection",
}
T = TypeVar("T")
Query = Mapping[str, object]


class Connection:
    """url: where the API is. token_file: read for each request, so that it can be replaced. timeout_s: of a request.

    ConfigError for an address that is none. Not usable where an event loop runs.
    """

    def __init__(self, url: str, token_file: Path | None, ca_file: Path | None, timeout_s: float) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigError(f"{url}: expected the address of an API, such as http://127.0.0.1:9099")
        self.url = url.rstrip("/")
        self._token_file = token_file
        self._http = HttpClient(timeout_s=timeout_s, tls=TlsConfig(ca_file=ca_file))
        self._runner = asyncio.Runner()
        self._runner.run(self._http.start())

    def close(self) -> None:
        """Idempotent."""
        self._runner.run(self._http.stop())
        self._runner.close()

    def get(self, of: type[T], path: str, query: Query | None = None) -> T:
        """Raises ApiError, Unavailable without an answer, and BadInput for one that cannot be read."""
        return self._read(TypeAdapter(of), path, self._asked(_with(path, query or {})))

    def pages(self, of: type[T], path: str, query: Query) -> Iterator[T]:
        """All of a list; a page is asked for when it is needed. Raises as ``get``."""
        adapter: TypeAdapter[list[T]] = TypeAdapter(list[of])  # type: ignore[valid-type]
        following = _with(path, {"limit": PAGE, **query})
        while following:
            answer = self._asked(following)
            yield from self._read(adapter, path, answer)
            found = _NEXT.fullmatch(answer.link or "")
            following = found[1] if found else ""

    def post(self, of: type[T], path: str, body: BaseModel | Mapping[str, Any]) -> T:
        """Raises as ``get``."""
        content = TypeAdapter(Any).dump_json(body)
        headers = {"Content-Type": "application/json", **self._headers()}
        sent = self._http.post(self.url + path, content, headers, body_bytes_max=ANSWER_BYTES_MAX)
        return self._read(TypeAdapter(of), path, self._answered(path, self._run(sent)))

    def _asked(self, path: str) -> HttpAnswer:
        asked = self._http.get(self.url + path, self._headers(), body_bytes_max=ANSWER_BYTES_MAX)
        return self._answered(path, self._run(asked))

    def _run(self, request: Coroutine[Any, Any, HttpAnswer]) -> HttpAnswer:
        try:
            return self._runner.run(request)
        except NoAnswer as error:
            why = error.detail if error.reason is FailureReason.TLS else _WHY.get(error.reason, str(error))
            raise Unavailable(f"{self.url} does not answer: {why}") from error

    def _answered(self, path: str, answer: HttpAnswer) -> HttpAnswer:
        if answer.accepted:
            return answer
        place = self.url + path.partition("?")[0]
        try:
            problem = TypeAdapter(_Problem).validate_json(answer.body)
        except ValidationError:
            raise ApiError(place, answer.status, "unknown", answer.explanation(200), answer.after_s) from None
        raise ApiError(place, answer.status, problem.errorType, problem.error, answer.after_s)

    def _read(self, adapter: TypeAdapter[T], path: str, answer: HttpAnswer) -> T:
        try:
            return adapter.validate_json(answer.body)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "answer"
            raise BadInput(f"{self.url}{path}: {where}: {first['msg']}; is it an API of this release?") from error

    def _headers(self) -> dict[str, str]:
        return {} if self._token_file is None else {"Authorization": bearer(self._token_file)}


class _Problem(BaseModel):
    errorType: str
    error: str


def _with(path: str, query: Query) -> str:
    asked = urlencode({name: _text(value) for name, value in query.items() if value is not None})
    return f"{path}?{asked}" if asked else path


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
