"""One POST to a receiver, and what its answer means."""

import asyncio
import ssl
import time
from collections.abc import Mapping
from pathlib import Path

import aiohttp

from alerts.receivers.base import Later, Rejected
from alerts.receivers.config import HttpConfig
from common.errors import ConfigError
from common.retry import retry_after_s

RETRY_AFTER_S_MAX = 300.0
SECRET_BYTES_MAX = 64 * 1024
_ANSWER_BYTES_MAX = 4096
# 408 and 425 ask for a repetition by their own definition
_REPEAT = frozenset({408, 425, 429})


class HttpSender:
    """Posts for one receiver. Follows no redirect, reads at most 4 KiB of an answer, never shows the address."""

    def __init__(self, name: str, config: HttpConfig) -> None:
        self._name = name
        self._config = config
        self._session: aiohttp.ClientSession | None = None

    async def start(self) -> None:
        """ConfigError when the file of certificates is not usable."""
        try:
            context = ssl.create_default_context(cafile=self._config.ca_file)
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(f"alerting.receivers {self._name}: ca_file: {error}") from error
        self._session = aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(total=self._config.timeout_s),
            connector=aiohttp.TCPConnector(limit=2, ssl=context),
            trust_env=False,
        )

    async def stop(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> str:
        """The beginning of the answer's text when it was taken; else Later or Rejected."""
        assert self._session is not None, "start it first"
        address, token = self._address(path), self._secret(self._config.bearer_token_file)
        sent = {"Content-Type": "application/json", **headers}
        if token:
            sent["Authorization"] = f"Bearer {token}"
        try:
            async with self._session.post(address, data=body, headers=sent, allow_redirects=False) as answer:
                text = (await answer.content.read(_ANSWER_BYTES_MAX)).decode("utf-8", "replace")
                self._judge(answer, text)
                return text
        except TimeoutError as error:
            raise Later(f"{self._name}: no answer within {self._config.timeout_s:g} s") from error
        except (aiohttp.InvalidURL, ValueError) as error:
            raise Rejected(f"{self._name}: the address is not usable") from error
        except (aiohttp.ClientError, OSError, asyncio.IncompleteReadError) as error:
            # the class says what happened; the text may hold the address
            raise Later(f"{self._name}: {type(error).__name__}") from error

    def _judge(self, answer: aiohttp.ClientResponse, text: str) -> None:
        if answer.status in _REPEAT or answer.status >= 500:
            after_s = retry_after_s(answer.headers.get("Retry-After"), time.time(), most_s=RETRY_AFTER_S_MAX)
            raise Later(f"{self._name}: answered {answer.status}", after_s)
        if not 200 <= answer.status < 300:
            said = "".join(c if c.isprintable() else " " for c in text[:200])
            raise Rejected(f"{self._name}: answered {answer.status}: {said}")

    def _address(self, path: str) -> str:
        base = self._config.url or self._secret(self._config.url_file)
        return base.rstrip("/") + path if path else base

    def _secret(self, file: Path | None) -> str:
        return read_secret(self._name, file).decode("utf-8", "replace") if file else ""


class HttpReceiver:
    """What receivers over HTTP have in common: a name, and a connection from ``start`` to ``stop``."""

    def __init__(self, name: str, config: HttpConfig, external_url: str) -> None:
        self.name = name
        self._external_url = external_url
        self._http = HttpSender(name, config)

    async def start(self) -> None:
        await self._http.start()

    async def stop(self) -> None:
        await self._http.stop()


def read_secret(name: str, file: Path) -> bytes:
    """The file's content without white space around it; Later when it is not readable (it may be in rotation)."""
    try:
        with file.open("rb") as stream:
            secret = stream.read(SECRET_BYTES_MAX).strip()
    except OSError as error:
        raise Later(f"{name}: secret file {file}: {error.strerror}") from error
    if not secret:
        raise Later(f"{name}: secret file {file} is empty")
    return secret
