"""The API over TLS, and settings with which it does not start."""

import shutil
import ssl
import time
import urllib.parse
from datetime import UTC, datetime

import aiohttp
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from prometheus_client import REGISTRY

from common.errors import ConfigError
from common.tls import TlsConfig, client_context
from fabricscope.api import certificate
from fabricscope.api.certificate import expiry_s
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from tests.servers.certificates import Certificates
from tests.waiting import until


@pytest.fixture
async def tls_api(bus, replace, certificates: Certificates, tmp_path) -> ApiService:
    """Reachable beyond loopback, with the token ``s3cret``."""
    (tmp_path / "token").write_text("s3cret\n")
    service: ApiService = await replace(
        ApiService(
            ApiConfig(
                host="0.0.0.0",
                port=0,
                state_dir=tmp_path / "api",
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


async def test_over_tls_the_cookie_of_a_session_is_for_tls_alone(tls_api, certificates: Certificates) -> None:
    knows_us = client_context(TlsConfig(ca_file=certificates.authority))
    url = f"https://127.0.0.1:{urllib.parse.urlsplit(tls_api.url).port}/login"
    token = {"Authorization": "Bearer s3cret"}
    async with aiohttp.ClientSession() as session, session.post(url, json={}, ssl=knows_us, headers=token) as answer:
        assert {name: (each["secure"], each["path"], each["domain"]) for name, each in answer.cookies.items()} == {
            "__Host-fabricscope": (True, "/", ""),
            "fabricscope_name": (True, "/", ""),
        }
        cookie = f"__Host-fabricscope={answer.cookies['__Host-fabricscope'].value}"
    assert await status(tls_api, "https", knows_us, Cookie=cookie) == 200


async def test_over_tls_nothing_is_sent_in_the_clear(tls_api) -> None:
    with pytest.raises(aiohttp.ClientConnectorCertificateError):
        await status(tls_api, "https", ssl.create_default_context())
    with pytest.raises(aiohttp.ClientError):
        await status(tls_api, "http", ssl.create_default_context())


async def test_a_certificate_that_was_replaced_is_used_without_a_restart(
    bus, certificates: Certificates, tmp_path, monkeypatch
) -> None:
    monkeypatch.setattr(certificate, "LOOK_S", 0.05)
    files = tmp_path / "api.pem", tmp_path / "api.key"

    def place(cert: str, key: str) -> None:
        shutil.copy(certificates.certificate(cert), files[0])
        shutil.copy(certificates.key(key), files[1])

    def expiry() -> float | None:
        return REGISTRY.get_sample_value("fabricscope_api_certificate_expiry_timestamp_seconds")

    def failures() -> float:
        return REGISTRY.get_sample_value("fabricscope_api_certificate_failures_total") or 0.0

    place("expired", "expired")
    config = ApiConfig(port=0, state_dir=tmp_path / "state", tls_cert_file=files[0], tls_key_file=files[1])
    service = ApiService(config, bus)
    await service.start()
    try:
        knows_us = client_context(TlsConfig(ca_file=certificates.authority))
        with pytest.raises(aiohttp.ClientConnectorCertificateError, match="expired"):
            await status(service, "https", knows_us)
        assert (expiry() or time.time()) < time.time()

        before = failures()
        place("server", "client")  # a pair that does not fit
        await until(lambda: failures() > before)
        with pytest.raises(aiohttp.ClientConnectorCertificateError, match="expired"):
            await status(service, "https", knows_us)

        place("server", "server")
        await until(lambda: (expiry() or 0.0) > time.time())
        assert await status(service, "https", knows_us) == 200
    finally:
        await service.stop()


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
    service = ApiService(
        ApiConfig(port=0, state_dir=tmp_path, **{name: tmp_path / file for name, file in settings.items()}), bus
    )
    with pytest.raises(ConfigError, match=message):
        await service.start()
    await service.stop()


async def test_a_port_that_is_taken_stops_the_start(bus, api, state_dir) -> None:
    taken = urllib.parse.urlsplit(api.url).port
    service = ApiService(ApiConfig(port=taken, state_dir=state_dir), bus)
    with pytest.raises(ConfigError, match=rf"api\.host, api\.port: .*{taken}"):
        await service.start()
    await service.stop()


@pytest.mark.parametrize("ends", [datetime(2027, 3, 4, 5, 6, 7, tzinfo=UTC), datetime(2055, 1, 2, tzinfo=UTC)])
def test_when_a_certificate_expires_in_both_forms_of_a_time(ends: datetime) -> None:
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
    made = x509.CertificateBuilder(name, name, key.public_key(), 2**64, datetime(2026, 1, 1, tzinfo=UTC), ends)
    pem = made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM).decode()
    assert expiry_s("of the test\n" + pem + pem) == ends.timestamp()


@pytest.mark.parametrize("pem", ["", "no certificate", ssl.DER_cert_to_PEM_cert(b"0\x820")])
def test_what_is_no_certificate_has_no_end(pem: str) -> None:
    with pytest.raises(ValueError, match=r"PEM|cut off"):
        expiry_s(pem)
