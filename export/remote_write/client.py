"""One request to a receiver of remote write, and what its answer means."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from common.errors import ConfigError, Unauthorized, Unavailable
from common.http import HttpAnswer, HttpClient
from common.secrets import bearer
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.protocol import Version, headers_of, samples_written

_EXPLANATION_CHARS_MAX = 300
_TOO_MANY_REQUESTS, _UNSUPPORTED = 429, 415
# nothing is wrong with the samples: credentials, address, or a message that the receiver does not know
_NOT_LET_IN = frozenset({401, 403})
_NOT_THERE = frozenset({404, _UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class WriteResult:
    """accepted: False when this request, as it is, will never be accepted. explanation: the receiver's own words.

    written: samples that it has written, None where it does not say. unsupported: it does not know the version.
    """

    accepted: bool
    explanation: str = ""
    written: int | None = None
    unsupported: bool = False


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

    async def send(
        self, body: bytes, headers: Mapping[str, str] = MappingProxyType({}), version: Version = Version.FIRST
    ) -> WriteResult:
        """Raises Unavailable when it is to be repeated, Unauthorized when a person must fix something first.

        headers: of this request, beside those of the protocol and the settings. version: of the body.
        """
        try:
            answer = await self._http.post(self._config.url, body, {**self._headers(version), **headers})
        except ConfigError as error:
            raise Unavailable(str(error)) from error
        written = samples_written(answer.headers) if version is Version.SECOND else None
        if version is Version.SECOND and self._is_of_first(answer, written):
            return WriteResult(accepted=False, explanation="it does not know remote write 2.0", unsupported=True)
        if answer.accepted:
            return WriteResult(accepted=True, written=written)
        if answer.status == _TOO_MANY_REQUESTS or answer.status >= 500:
            raise Unavailable(f"answered {answer.status}", answer.after_s)
        if answer.status >= 400 and not self._waits(answer.status):
            return WriteResult(False, answer.explanation(_EXPLANATION_CHARS_MAX), written)
        # credentials, address or a redirect: nothing is wrong with the samples, so they wait for the operator
        kind = Unauthorized if answer.status in _NOT_LET_IN else Unavailable
        raise kind(f"answered {answer.status}: check url and credentials", self._config.retry_most_s)

    @staticmethod
    def _is_of_first(answer: HttpAnswer, written: int | None) -> bool:
        """Also one of 1.0 that looks at no content type: it reads nothing in our request and says that all is well."""
        return answer.status == _UNSUPPORTED or (answer.accepted and written is None)

    def _waits(self, status: int) -> bool:
        return self._config.not_let_in == "wait" and status in _NOT_LET_IN | _NOT_THERE

    def _headers(self, version: Version) -> dict[str, str]:
        headers = {**self._config.headers, **headers_of(version)}
        if self._config.basic_auth is not None:
            headers["Authorization"] = self._config.basic_auth.authorization()
        elif self._config.bearer_token_file is not None:
            headers["Authorization"] = bearer(self._config.bearer_token_file)
        return headers
