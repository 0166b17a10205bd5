"""The gNMI collector and TLS: who is talked to, and with which credentials."""

from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

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


async def test_an_expired_certificate_is_refused(certificates: Certificates) -> None:
    tls = GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example")
    server = serving(steady, certificates, name="expired")
    with capture_logs() as logs:
        async with server as address, collecting(job(address, tls=tls)) as (emitted, _):
            await emitted.until(lambda: DownReason.TLS in emitted.downs)
            assert not any(map(len, emitted.batches))
    assert any("certificate has expired" in str(line.get("error")) for line in logs)


async def test_when_the_certificate_of_a_target_expires_is_a_metric(certificates: Certificates) -> None:
    tls = GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example")
    metric = "fabricscope_ingest_certificate_expiry_timestamp_seconds"
    async with serving(steady, certificates) as address:
        target = {"target": f"test/{address}"}
        async with collecting(job(address, tls=tls)) as (emitted, _):
            await emitted.until(lambda: any(map(len, emitted.batches)))
            found = REGISTRY.get_sample_value(metric, target)
            expected = x509.load_pem_x509_certificate(certificates.certificate("server").read_bytes())
            assert found == expected.not_valid_after_utc.timestamp()
        assert REGISTRY.get_sample_value(metric, target) is None, "a target that is gone has none"


@pytest.mark.parametrize("kind", ["insecure", "insecure_skip_verify"])
async def test_a_connection_that_is_not_secure_is_warned_about_and_counted(
    certificates: Certificates, kind: str
) -> None:
    metric, labels = "fabricscope_ingest_gnmi_insecure_targets", {"job": "test", "kind": kind}
    server = serving(steady, None if kind == "insecure" else certificates)
    with capture_logs() as logs:
        async with server as address, collecting(job(address, tls=GnmiTlsConfig(**{kind: True}))) as (emitted, _):
            await emitted.until(lambda: any(map(len, emitted.batches)))
            assert REGISTRY.get_sample_value(metric, labels) == 1
            target = f"test/{address}"
    assert REGISTRY.get_sample_value(metric, labels) == 0
    warned = [(line["kind"], line["target"]) for line in logs if line["event"] == "connection is not secure"]
    assert warned == [(kind, target)]


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
