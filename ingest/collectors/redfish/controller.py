"""Requests to one management controller: logged in, paced, bounded, and within its own address."""

import asyncio
from collections.abc import Callable, Mapping
from enum import Enum

import orjson

from common.errors import BadInput, ConfigError, Unavailable
from common.http import FailureReason, HttpAnswer, HttpClient, NoAnswer
from ingest.collectors.quota import Quota
from ingest.collectors.redfish.config import Config
from ingest.collectors.redfish.parse import ROOT, Document, parse_document
from telemetry.samples import DownReason

_SESSIONS = f"{ROOT}/SessionService/Sessions"
_LOGGED_OUT = 401


class Scope(Enum):
    """What cannot be read."""

    ABSENT = "absent"  # the controller has no such resource
    RESOURCE = "resource"  # this one alone
    CONTROLLER = "controller"


class NotRead(Exception):
    """A resource that was not read."""

    def __init__(self, reason: DownReason, message: str, scope: Scope = Scope.CONTROLLER) -> None:
        super().__init__(message)
        self.reason, self.scope = reason, scope


class Controller:
    """clock: nanoseconds, for the pace of requests alone."""

    def __init__(self, config: Config, address: str, clock: Callable[[], int]) -> None:
        self._config, self._base, self._clock = config, f"{config.scheme}://{address}", clock
        self._quota = Quota(config.limits.requests_per_s)
        self._client: HttpClient | None = None
        self._token = self._session = ""
        self._logging_in = asyncio.Lock()
        self._left = 0

    def begin(self) -> None:
        """A collection: so many requests are left for it."""
        self._left = self._config.limits.requests_max

    async def get(self, path: str) -> Document:
        """The resource. NotRead with the reason."""
        headers = await self._headers()
        answer = await self._get(path, headers)
        if answer.status == _LOGGED_OUT and self._config.session_auth is not None:
            headers = await self._headers(instead_of=headers.get("X-Auth-Token", ""))
            answer = await self._get(path, headers)
        if answer.status == _LOGGED_OUT:
            raise NotRead(DownReason.AUTH, f"{path}: status {answer.status}")
        if not answer.accepted:
            raise NotRead(_reason_of(answer.status), f"{path}: status {answer.status}", _scope_of(answer.status))
        try:
            return parse_document(answer.body, path)
        except BadInput as error:
            raise NotRead(DownReason.BAD_FORMAT, str(error), Scope.RESOURCE) from error

    async def stop(self) -> None:
        """Logs out, as controllers keep few sessions, and closes what is open. Idempotent."""
        client, self._client = self._client, None
        session, token = self._session, self._token
        self._session = self._token = ""
        if client is None:
            return
        try:
            if session:
                await client.delete(self._base + session, {"X-Auth-Token": token})
        except (NoAnswer, ConfigError):
            pass  # it ends by itself (SessionTimeout)
        finally:
            await client.stop()

    async def _get(self, path: str, headers: Mapping[str, str]) -> HttpAnswer:
        client = await self._paced()
        try:
            return await client.get(self._base + path, headers, body_bytes_max=self._config.limits.body_bytes_max)
        except NoAnswer as error:
            scope = Scope.RESOURCE if error.reason is FailureReason.TOO_LARGE else Scope.CONTROLLER
            raise NotRead(DownReason(error.reason.value), f"{path}: {error}", scope) from error
        except ConfigError as error:
            raise NotRead(DownReason.BAD_FORMAT, f"{path[:80]}: {error}", Scope.RESOURCE) from error

    async def _paced(self) -> HttpClient:
        """The client, when it is time for one more request."""
        if self._left <= 0:
            raise NotRead(
                DownReason.TOO_LARGE, f"more than {self._config.limits.requests_max} requests", Scope.RESOURCE
            )
        self._left -= 1
        while (wait_s := self._quota.wait_s(1, self._clock())) > 0:  # noqa: ASYNC110  # time sets no event
            await asyncio.sleep(wait_s)
        if self._client is None:
            config = self._config
            client = HttpClient(
                timeout_s=config.timeout_s, tls=config.tls_config, connections_max=config.limits.connections_max
            )
            try:
                await client.start()
            except ConfigError as error:
                raise NotRead(DownReason.TLS, str(error)) from error
            self._client = client
        return self._client

    async def _headers(self, instead_of: str | None = None) -> dict[str, str]:
        """What says who asks. instead_of: a token that is no longer good."""
        config = self._config
        try:
            if config.basic_auth is not None:
                return {"Authorization": config.basic_auth.authorization()}
            if config.session_auth is None:
                return {}
            async with self._logging_in:  # several requests may find out at once
                if not self._token or self._token == instead_of:
                    await self._log_in()
        except Unavailable as error:
            raise NotRead(DownReason.AUTH, str(error)) from error
        return {"X-Auth-Token": self._token}

    async def _log_in(self) -> None:
        assert self._config.session_auth is not None
        self._token = self._session = ""
        user = self._config.session_auth
        body = orjson.dumps({"UserName": user.username, "Password": user.password()})
        client = await self._paced()
        try:
            answer = await client.post(self._base + _SESSIONS, body, {"Content-Type": "application/json"})
        except NoAnswer as error:
            raise NotRead(DownReason(error.reason.value), str(error)) from error
        token = answer.headers.get("X-Auth-Token", "")
        if not answer.accepted or not token:
            reason = DownReason.AUTH if answer.status in (400, 401, 403) else DownReason.HTTP_STATUS
            raise NotRead(reason, f"login: status {answer.status}")
        self._token = token
        location = answer.headers.get("Location", "")
        path = location.removeprefix(self._base)
        self._session = path if path.startswith(ROOT + "/") else ""


def _reason_of(status: int) -> DownReason:
    if status == 403:
        return DownReason.AUTH
    return DownReason.REDIRECT if 300 <= status < 400 else DownReason.HTTP_STATUS


def _scope_of(status: int) -> Scope:
    return Scope.ABSENT if status in (404, 405, 501) else Scope.RESOURCE
