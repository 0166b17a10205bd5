"""The connection to a target: credentials, keepalive, and the reasons of failures."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from ingest.collectors.gnmi.channel import keepalive_after, metadata_of, subscribe
from ingest.collectors.gnmi.config import Config, GnmiTlsConfig, TargetConfig
from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import DownReason

TOO_MANY = "the target sent GOAWAY: code 11 too_many_pings"


@pytest.mark.parametrize(
    ("message", "before_s", "after_s"),
    [
        (TOO_MANY, 1.0, 4.0),
        (TOO_MANY, 30.0, 120.0),
        (TOO_MANY, 150.0, 600.0),
        (TOO_MANY, 300.0, 600.0),  # at most one ping in ten minutes
        (TOO_MANY, 900.0, 900.0),  # and never more often than configured
        ("the connection was closed", 30.0, 30.0),
        ("", 30.0, 30.0),
    ],
)
def test_the_time_between_pings_after_an_end(message: str, before_s: float, after_s: float) -> None:
    assert keepalive_after(message, before_s) == after_s


def job(address: str = "127.0.0.1:1", **settings: object) -> tuple[Config, TargetConfig]:
    target = TargetConfig(address=address, device="leaf1")
    return Config.model_validate({"targets": (target,), "connect_timeout_s": 60.0, **settings}), target


def test_without_files_there_are_no_credentials() -> None:
    assert metadata_of(job()[0]) == ()


def test_credentials_are_read_again_each_time(tmp_path: Path) -> None:
    user, password = tmp_path / "user", tmp_path / "password"
    config, _ = job(username_file=user, password_file=password)
    for secret in ("first", "second"):
        user.write_text("admin\n")
        password.write_text(f" {secret}\n")
        assert metadata_of(config) == (("username", "admin"), ("password", secret))


async def reason_of(config: Config, target: TargetConfig, request: bytes = b"") -> tuple[DownReason, str]:
    with pytest.raises(CallEnded) as caught:
        await subscribe(config, target, request, 30.0)
    return caught.value.reason, caught.value.message


async def test_a_missing_secret_is_a_failure_of_authentication_that_names_the_file(tmp_path: Path) -> None:
    config, target = job(username_file=tmp_path / "user", password_file=tmp_path / "password")
    reason, message = await reason_of(config, target)
    assert reason is DownReason.AUTH
    assert message == f"secret file {tmp_path / 'user'}: No such file or directory"


@pytest.mark.parametrize("key", ["ca_file", "cert_file"])
async def test_a_certificate_that_cannot_be_read_is_a_failure_of_tls_that_names_the_file(
    key: str, tmp_path: Path
) -> None:
    files = {key: tmp_path / "absent.pem"} | ({"key_file": tmp_path / "key.pem"} if key == "cert_file" else {})
    reason, message = await reason_of(*job(tls=GnmiTlsConfig(**files)))
    assert reason is DownReason.TLS
    assert "absent.pem" in message


async def test_a_refused_connection() -> None:
    reason, _ = await reason_of(*job(tls=GnmiTlsConfig(insecure=True)))
    assert reason is DownReason.REFUSED


async def test_a_request_above_the_default_window_is_refused_before_connecting() -> None:
    reason, message = await reason_of(*job(tls=GnmiTlsConfig(insecure=True)), request=bytes(65_531))
    assert (reason, message) == (DownReason.TOO_LARGE, "a request of 65531 bytes: at most 65530")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ssl.SSLError(1, "handshake"), DownReason.TLS),
        (socket.gaierror(-2, "unknown"), DownReason.DNS),
        (TimeoutError(), DownReason.TIMEOUT),
        (ConnectionResetError(), DownReason.RESET),
        (ConnectionRefusedError(), DownReason.REFUSED),
        (OSError(113, "no route to host"), DownReason.REFUSED),
    ],
)
async def test_errors_of_the_connection_have_a_reason(
    error: OSError, reason: DownReason, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(*arguments: object, **options: object) -> None:
        raise error

    monkeypatch.setattr(asyncio.get_running_loop(), "create_connection", fail)
    found, message = await reason_of(*job(tls=GnmiTlsConfig(insecure=True)))
    assert found is reason
    assert message  # never an empty one, whatever the error holds
