"""One request to a receiver of remote write, and what its answer means."""

import asyncio
import base64
import ssl
import time
from enum import StrEnum
from pathlib import Path

import aiohttp

from common.errors import ConfigError, Unavailable
from common.retry import retry_after_s
from export.remote_write.config import RemoteWriteConfig, TlsConfig

RETRY_AFTER_S_MAX = 300.0
SECRET_BYTES_MAX = 64 * 1024
_SAID_BYTES_MAX = 4096
_HEADERS = {
    "Content-Encoding": "snappy",
    "Content-Type": "application/x-protobuf",
    "X-Prometheus-Remote-Write-Version": "0.1.0",
    "User-Agent": "fabricscope",
}
# what is wrong with the samples, not with us: too large, or at least one that it will never take
_REFUSED = frozenset({400, 413, 422})
_BUSY = frozenset({408, 425, 429})


class Answer(StrEnum):
    TAKEN = "taken"
    REFUSED = "refused"  # this request, as it is, will never be taken


class Later(Unavailable):
    """Not now. after_s: how long to wait at least, None when it did not say."""

    def __init__(self, message: str, after_s: float | None = None) -> None:
        super().__init__(message)
        self.after_s = after_s


class Transport:
    """Sends requests one at a time over a connection that is kept. Errors show neither address nor secret."""

    def __init__(self, config: RemoteWriteConfig) -> None:
        self._config = config
        self._session: aiohttp.ClientSession | None = None
        self.said = ""

    async def start(self) -> None:
        """ConfigError when certificates are not usable."""
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._config.timeout_s),
            connector=aiohttp.TCPConnector(limit=1, ssl=_tls(self._config.tls)),
            trust_env=False,
        )

    async def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def send(self, body: bytes) -> Answer:
        """``said`` is then what the receiver explained. Raises Later."""
        assert self._session is not None, "start it first"
        headers = {**self._config.headers, **_HEADERS, **self._authorization()}
        try:
            async with self._session.post(
                self._config.url, data=body, headers=headers, allow_redirects=False
            ) as answer:
                text = (await answer.content.read(_SAID_BYTES_MAX)).decode("utf-8", "replace")
                self.said = "".join(c if c.isprintable() else " " for c in text[:300]).strip()
                return self._judge(answer)
        except TimeoutError as error:
            raise Later(f"no answer within {self._config.timeout_s:g} s") from error
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            raise Later(type(error).__name__) from error

    def _judge(self, answer: aiohttp.ClientResponse) -> Answer:
        if 200 <= answer.status < 300:
            return Answer.TAKEN
        if answer.status in _REFUSED:
            return Answer.REFUSED
        if answer.status in _BUSY or answer.status >= 500:
            asked_s = retry_after_s(answer.headers.get("Retry-After"), time.time(), most_s=RETRY_AFTER_S_MAX)
            raise Later(f"answered {answer.status}", asked_s)
        # credentials, address or a redirect: nothing is wrong with the samples, so they wait for the operator
        raise Later(f"answered {answer.status}: check url and credentials", self._config.retry_most_s)

    def _authorization(self) -> dict[str, str]:
        if (basic := self._config.basic_auth) is not None:
            pair = basic.username.encode() + b":" + _secret(basic.password_file)
            return {"Authorization": "Basic " + base64.b64encode(pair).decode()}
        if self._config.bearer_token_file is not None:
            return {"Authorization": "Bearer " + _secret(self._config.bearer_token_file).decode("utf-8", "replace")}
        return {}


def _secret(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            return stream.read(SECRET_BYTES_MAX).strip()
    except OSError as error:
        raise Later(f"secret file {file}: {error.strerror}") from error


def _tls(config: TlsConfig) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=config.ca_file)
        if config.cert_file is not None:
            context.load_cert_chain(config.cert_file, config.key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"remote_write.tls: {error}") from error
    if config.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
