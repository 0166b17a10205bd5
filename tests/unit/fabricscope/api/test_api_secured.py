"""The API over TLS, and settings with which it does not start."""

import ssl
import urllib.parse

import aiohttp
import pytest

from common.errors import ConfigError
from common.tls import TlsConfig, client_context
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from tests.servers.certificates import Certificates


@pytest.fixture
async def tls_api(bus, replace, certificates: Certificates, tmp_path) -> ApiService:
    """Reachable beyond loopback, with the token ``s3cret``."""
    (tmp_path / "token").write_text("s3cret\n")
    service: ApiService = await replace(
        ApiService(
            ApiConfig(
                host="0.0.0.0",
                port=0,
                allowed_hosts=("127.0.0.1",),
                tls_cert_file=certificates.certificate("server"),
                tls_key_file=certificates.key("server"),
                bearer_token_file=tmp_path / "token",
            ),
            bus,
        )
    )
    return service


async def status(service: ApiService, scheme: str, context: ssl.SSLContext, **headers: str) -> int:
    """What a client that connects to 127.0.0.1 is answered."""
    url = f"{scheme}://127.0.0.1:{urllib.parse.urlsplit(service.url).port}/api/v1/incidents"
    async with aiohttp.ClientSession() as session, session.get(url, ssl=context, headers=headers) as answer:
        return answer.status


async def test_over_tls_a_client_knows_whom_it_asks_and_needs_the_token(tls_api, certificates: Certificates) -> None:
    knows_us = client_context(TlsConfig(ca_file=certificates.authority))
    assert tls_api.url.startswith("https://")
    assert await status(tls_api, "https", knows_us, Authorization="Bearer s3cret") == 200
    assert await status(tls_api, "https", knows_us) == 401


async def test_over_tls_nothing_is_sent_in_the_clear(tls_api) -> None:
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await status(tls_api, "https", ssl.create_default_context())
    with pytest.raises(aiohttp.ClientError):
        await status(tls_api, "http", ssl.create_default_context())


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"tls_cert_file": "none.pem", "tls_key_file": "none.key"}, r"api\.tls_cert_file, api\.tls_key_file"),
        ({"tls_cert_file": "empty", "tls_key_file": "empty"}, r"api\.tls_cert_file, api\.tls_key_file"),
        ({"bearer_token_file": "none"}, r"api\.bearer_token_file: .*none"),
        ({"bearer_token_file": "empty"}, r"api\.bearer_token_file: .*empty, expected a token"),
    ],
)
async def test_a_file_that_is_of_no_use_stops_the_start(bus, tmp_path, settings, message) -> None:
    (tmp_path / "empty").write_text("\n")
    service = ApiService(ApiConfig(port=0, **{name: tmp_path / file for name, file in settings.items()}), bus)
    with pytest.raises(ConfigError, match=message):
        await service.start()
    await service.stop()


async def test_a_port_that_is_taken_stops_the_start(bus, api) -> None:
    taken = urllib.parse.urlsplit(api.url).port
    service = ApiService(ApiConfig(port=taken), bus)
    with pytest.raises(ConfigError, match=rf"api\.host, api\.port: .*{taken}"):
        await service.start()
    await service.stop()
