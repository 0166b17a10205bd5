"""One POST to a receiver, and what its answer means."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

from alerts.addresses import Addresses
from alerts.receivers.base import Rejected
from alerts.receivers.config import HttpConfig
from common.errors import ConfigError, Unavailable
from common.http import HttpAnswer, HttpClient
from common.secrets import bearer, read_secret_text
from common.tls import TlsConfig

EXPLANATION_CHARS = 200
BODY_BYTES_MAX = 64 * 1024  # of an answer; services say in a few hundred bytes whether they accepted
_CONNECTIONS_MAX = 2


class HttpReceiver:
    """What receivers over HTTP have in common: a name, and posting between ``start`` and ``stop``.

    Errors name the receiver and never the address. addresses: of what its messages link to.
    owner: headers that name who sends.
    """

    def __init__(
        self, name: str, config: HttpConfig, addresses: Addresses, owner: Callable[[], Mapping[str, str]] = dict
    ) -> None:
        self.name = name
        self._owner = owner
        self._addresses = addresses
        self._http_config = config
        self._client = HttpClient(
            timeout_s=config.timeout_s, tls=TlsConfig(ca_file=config.ca_file), connections_max=_CONNECTIONS_MAX
        )

    async def start(self) -> None:
        """ConfigError when the file of certificates is not usable."""
        try:
            await self._client.start()
        except ConfigError as error:
            raise ConfigError(f"alerting.receivers {self.name}: {error}") from error

    async def stop(self) -> None:
        """Idempotent, safe before ``start``."""
        await self._client.stop()

    async def _post(self, path: str, body: bytes, headers: Mapping[str, str]) -> HttpAnswer:
        """Posts JSON to ``path`` below the address; the answer when it is 2xx, else Unavailable or Rejected."""
        headers = {"Content-Type": "application/json", **self._owner(), **headers}
        return await self._request("POST", path, body, headers)

    async def _request(
        self, method: str, path: str = "", body: bytes = b"", headers: Mapping[str, str] = MappingProxyType({})
    ) -> HttpAnswer:
        with self._errors_named():
            if self._http_config.bearer_token_file is not None:
                headers = {**headers, "Authorization": bearer(self._http_config.bearer_token_file)}
            address = self._address(path)
            if method == "GET":
                answer = await self._client.get(address, headers, body_bytes_max=BODY_BYTES_MAX)
            else:
                answer = await self._client.post(address, body, headers, body_bytes_max=BODY_BYTES_MAX)
        if answer.is_busy:
            raise Unavailable(f"{self.name}: answered {answer.status}", answer.after_s)
        if not answer.accepted:
            raise Rejected(f"{self.name}: answered {answer.status}: {answer.explanation(EXPLANATION_CHARS)}")
        return answer

    @contextmanager
    def _errors_named(self) -> Iterator[None]:
        """Puts the receiver's name before what goes wrong within; what is not usable is Rejected."""
        try:
            yield
        except ConfigError as error:
            raise Rejected(f"{self.name}: {error}") from error
        except Unavailable as error:
            raise Unavailable(f"{self.name}: {error}", error.after_s) from error

    def _address(self, path: str) -> str:
        config = self._http_config
        base = read_secret_text(config.url_file) if config.url_file is not None else config.url
        return base.rstrip("/") + path if path else base
