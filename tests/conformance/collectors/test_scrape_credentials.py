"""Secrets that a collector sends with each request."""

from pathlib import Path

from ingest.ledger import Ledger
from telemetry.samples import DownReason
from tests.conformance.collectors.http_target import NOW_NS, Server, make
from tests.servers.answers import respond


async def test_credentials_come_from_files_and_are_read_again(server: Server, ledger: Ledger, tmp_path: Path) -> None:
    secret = tmp_path / "token"
    secret.write_text("first\n")
    collector = make(server.address, ledger, authorization={"credentials_file": str(secret)}, backoff_intervals_max=1)
    await collector.collect(NOW_NS)
    assert b"\r\nAuthorization: Bearer first\r\n" in server.request
    secret.write_text("second\n")
    server.answer = respond(b"", status="401 Unauthorized")
    await collector.collect(NOW_NS)
    await collector.collect(NOW_NS)
    assert b"\r\nAuthorization: Bearer second\r\n" in server.request
    secret.unlink()
    assert (await collector.collect(NOW_NS)).collection.down is DownReason.AUTH
    await collector.stop()


async def test_basic_auth(server: Server, ledger: Ledger, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("pa:ss")
    collector = make(server.address, ledger, basic_auth={"username": "me", "password_file": str(tmp_path / "password")})
    await collector.collect(NOW_NS)
    assert b"\r\nAuthorization: Basic bWU6cGE6c3M=\r\n" in server.request
    await collector.stop()
