"""The gNMI collector and TLS: who is talked to, and with which credentials."""

from pathlib import Path
from typing import Any

import grpc
import pytest

from ingest.collectors.gnmi.config import GnmiTlsConfig
from telemetry.samples import DownReason
from tests.conformance.collectors.gnmi_peer import Requests, Responses, collecting, job, serving, steady
from tests.servers.certificates import Certificates


@pytest.mark.parametrize("client_certificate", [False, True])
async def test_tls_is_verified_by_name(certificates: Certificates, client_certificate: bool) -> None:
    own: dict[str, Path] = {}
    if client_certificate:
        own = {"cert_file": certificates.certificate("client"), "key_file": certificates.key("client")}
    tls = GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example", **own)
    server = serving(steady, certificates, client_certificate=client_certificate)
    async with server as address, collecting(job(address, tls=tls)) as (emitted, _):
        await emitted.until(lambda: any(map(len, emitted.batches)))
        assert emitted.downs == []


@pytest.mark.parametrize(
    "tls",
    [GnmiTlsConfig(), GnmiTlsConfig(server_name="another.example")],
    ids=["unknown authority", "another name"],
)
async def test_a_server_that_cannot_prove_its_name_is_refused(certificates: Certificates, tls: GnmiTlsConfig) -> None:
    tls = tls.model_copy(update={"ca_file": certificates.authority if tls.server_name else None})
    async with serving(steady, certificates) as address, collecting(job(address, tls=tls)) as (emitted, _):
        await emitted.until(lambda: DownReason.TLS in emitted.downs)
        assert not any(map(len, emitted.batches))


async def test_skip_verify_accepts_any_certificate(certificates: Certificates) -> None:
    config_tls = GnmiTlsConfig(insecure_skip_verify=True)
    async with serving(steady, certificates) as address, collecting(job(address, tls=config_tls)) as (emitted, _):
        await emitted.until(lambda: any(map(len, emitted.batches)))


async def test_credentials_go_as_metadata(certificates: Certificates, tmp_path: Path) -> None:
    seen: dict[str, str] = {}

    async def guarded(requests: Requests, context: Any) -> Responses:
        seen.update({key: value for key, value in context.invocation_metadata() if key in ("username", "password")})
        if seen.get("password") != "right":
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "no")
        async for message in steady(requests, context):
            yield message

    (tmp_path / "user").write_text("fabricscope\n")
    (tmp_path / "password").write_text("wrong\n")
    changes = {
        "tls": GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example"),
        "username_file": tmp_path / "user",
        "password_file": tmp_path / "password",
    }
    async with serving(guarded, certificates) as address, collecting(job(address, **changes)) as (emitted, _):
        await emitted.until(lambda: DownReason.AUTH in emitted.downs)
        (tmp_path / "password").write_text("right\n")  # rotated: no restart
        await emitted.until(lambda: any(map(len, emitted.batches)))
        assert seen == {"username": "fabricscope", "password": "right"}
