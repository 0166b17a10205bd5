"""One request to a receiver of remote write, and what its answer means."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from common.errors import ConfigError, Unauthorized, Unavailable
from common.http import HttpClient
from common.secrets import bearer
from export.remote_write.config import RemoteWriteConfig

_EXPLANATION_CHARS_MAX = 300
_HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
}
# what is wrong with the samples, not with us: too large, or at least one that it will never accept
_REJECTED = frozenset({400, 413, 422})
_NOT_LET_IN = frozenset({401, 403})


@dataclass(frozen=True, slots=True)
class WriteResult:
    """accepted: False when this request, as it is, will never be accepted. explanation: the receiver's own words."""

    accepted: bool
    explanation: str


class RemoteWriteClient:
    """Sends requests one at a time over a connection that is kept. Errors show neither address nor secret."""

    def __init__(self, config: RemoteWriteConfig) -> None:
        self._config = config
        self._http = HttpClient(timeout_s=config.timeout_s, tls=config.tls)

    async def start(self) -> None:
        """ConfigError when certificates are not usable."""
        try:
            await self._http.start()
        except ConfigError as error:
            raise ConfigError(f"remote_write.tls: {error}") from error

    async def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        await self._http.stop()

    async def send(self, body: bytes, headers: Mapping[str, str] = MappingProxyType({})) -> WriteResult:
        """Raises Unavailable when it is to be repeated, Unauthorized when a person must fix something first.

        headers: of this request, beside those of the protocol and the settings.
        """
        try:
            answer = await self._http.post(self._config.url, body, {**self._headers(), **headers})
        except ConfigError as error:
            raise Unavailable(str(error)) from error
        if answer.accepted or answer.status in _REJECTED:
            return WriteResult(answer.accepted, answer.explanation(_EXPLANATION_CHARS_MAX))
        if answer.is_busy:
            raise Unavailable(f"answered {answer.status}", answer.after_s)
        # credentials, address or a redirect: nothing is wrong with the samples, so they wait for the operator
        kind = Unauthorized if answer.status in _NOT_LET_IN else Unavailable
        raise kind(f"answered {answer.status}: check url and credentials", self._config.retry_most_s)

    def _headers(self) -> dict[str, str]:
        headers = {**self._config.headers, **_HEADERS}
        if self._config.basic_auth is not None:
            headers["Authorization"] = self._config.basic_auth.authorization()
        elif self._config.bearer_token_file is not None:
            headers["Authorization"] = bearer(self._config.bearer_token_file)
        return headers
