"""Requests against a server on a socket that answers byte for byte what a test wants."""

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager

import pytest

from common.errors import ConfigError, Unavailable
from common.http import FailureReason, HttpAnswer, HttpClient, NoAnswer, is_metadata
from common.tls import TlsConfig
from tests.servers.certificates import Certificates


def answer(status: str = "200 OK", body: bytes = b"", **headers: object) -> bytes:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *(f"{k}: {v}" for k, v in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


class Peer:
    """Answers every request with the same bytes; None never answers, b"" closes. requests: heads, in lower case."""

    def __init__(self, reply: bytes | None) -> None:
        self.reply, self.requests, self.url = reply, list[str](), ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode().lower())
            if self.reply is None:
                await reader.read()  # until the client goes away
            else:
                writer.write(self.reply)
                await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def listening(reply: bytes | None, tls: ssl.SSLContext | None = None) -> AsyncIterator[Peer]:
    peer = Peer(reply)
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0, ssl=tls)
    peer.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.sockets[0].getsockname()[1]}/write?token=canary"
    try:
        yield peer
    finally:
        server.close()


async def post(
    url: str, headers: Mapping[str, str] = {}, *, timeout_s: float = 20.0, tls: TlsConfig | None = None
) -> HttpAnswer:
    async with HttpClient(timeout_s=timeout_s, tls=tls) as client:
        return await client.post(url, b"body", headers)


async def test_a_post_carries_body_and_headers_and_brings_the_answer():
    reply = answer("202 Accepted", b"thanks", **{"Retry-After": "7"})
    async with listening(reply) as peer:
        got = await post(peer.url, {"X-Key": "k1"})
    assert (got.status, got.body, got.after_s, got.accepted) == (202, b"thanks", 7.0, True)
    (request,) = peer.requests
    assert request.startswith("post /write?token=canary http/1.1\r\n")
    assert {"x-key: k1", "user-agent: fabricscope", "content-length: 4"} <= set(request.split("\r\n"))


async def test_no_redirect_is_followed():
    async with listening(answer("302 Found", Location="http://127.0.0.1:1/")) as peer:
        assert (await post(peer.url)).status == 302
    assert len(peer.requests) == 1


async def test_proxies_of_the_environment_are_ignored(monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with listening(answer()) as peer:
        assert (await post(peer.url)).accepted


async def test_of_an_answer_to_a_post_only_the_beginning_is_read():
    async with listening(answer("400 Bad Request", b"x" * 100_000)) as peer:
        assert 0 < len((await post(peer.url)).body) <= 4096


async def test_a_get_brings_the_whole_body_up_to_its_limit():
    async with listening(answer(body=b"x" * 100_000)) as peer, HttpClient(timeout_s=20) as client:
        assert len((await client.get(peer.url, {}, body_bytes_max=100_000)).body) == 100_000
        with pytest.raises(NoAnswer, match="body of more than 99999 bytes") as failure:
            await client.get(peer.url, {}, body_bytes_max=99_999)
        assert failure.value.reason is FailureReason.TOO_LARGE


async def test_a_body_that_is_stated_to_be_too_large_is_not_waited_for():
    stated = b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n"
    async with listening(stated) as peer, HttpClient(timeout_s=20) as client:
        with pytest.raises(NoAnswer) as failure:
            await client.get(peer.url, {}, body_bytes_max=1 << 20)
    assert failure.value.reason is FailureReason.TOO_LARGE


@pytest.mark.parametrize(
    ("reply", "reason"),
    [(None, FailureReason.TIMEOUT), (b"", FailureReason.CLOSED), (b"SSH-2.0\r\n\r\n", FailureReason.CLOSED)],
)
async def test_a_peer_that_does_not_answer_has_a_reason_and_no_address(reply, reason):
    async with listening(reply) as peer:
        with pytest.raises(NoAnswer) as failure:
            await post(peer.url, timeout_s=0.1 if reply is None else 20)
    assert failure.value.reason is reason
    assert "canary" not in str(failure.value)
    assert isinstance(failure.value, Unavailable)


async def test_a_body_that_ends_early_is_truncated():
    short = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"
    async with listening(short) as peer, HttpClient(timeout_s=20) as client:
        with pytest.raises(NoAnswer) as failure:
            await client.get(peer.url, {}, body_bytes_max=100)
    assert failure.value.reason is FailureReason.TRUNCATED


async def test_nobody_there_is_refused_and_the_detail_says_where():
    with pytest.raises(NoAnswer, match=r"^ClientConnectorError$") as failure:
        await post("http://127.0.0.1:1/")
    assert failure.value.reason is FailureReason.REFUSED
    assert "127.0.0.1:1" in failure.value.detail


METADATA = ["169.254.169.254", "169.254.0.1", "fe80::1", "::ffff:169.254.169.254", "fd00:ec2::254", "100.100.100.200"]
PASSED = ["127.0.0.1", "10.0.0.1", "192.168.1.1", "::1", "fd00::1", "8.8.8.8", "169.253.255.255", "100.100.100.201"]


@pytest.mark.parametrize(("addresses", "expected"), [(METADATA, True), (PASSED, False)], ids=["metadata", "others"])
def test_which_addresses_are_refused(addresses, expected):
    assert [is_metadata(address) for address in addresses] == [expected] * len(addresses)


@pytest.mark.parametrize("address", METADATA)
async def test_no_connection_is_made_to_metadata_and_link_local_addresses(address):
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(NoAnswer, match="metadata service, which is refused") as caught:
        await post(f"http://{host}/latest/meta-data")
    assert caught.value.reason is FailureReason.REFUSED


async def test_a_name_that_leads_to_metadata_is_refused_whatever_it_meant_before(monkeypatch):
    """What counts is the address that is connected to, so a name that changes its meaning is no way around."""
    meanings = [["127.0.0.1"], ["169.254.169.254"]]

    async def lookup(loop, host, port, **_):
        assert host == "hook.example"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in meanings.pop(0)]

    monkeypatch.setattr(asyncio.BaseEventLoop, "getaddrinfo", lookup)
    async with listening(answer("200 OK", Connection="close")) as peer:
        port = peer.url.split(":")[2].split("/")[0]
        url = f"http://hook.example:{port}/"
        assert (await post(url)).status == 200
        with pytest.raises(NoAnswer, match="metadata service, which is refused"):
            await post(url)
    assert len(peer.requests) == 1


async def test_a_name_that_does_not_exist_is_dns(monkeypatch):
    async def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", unknown)
    with pytest.raises(NoAnswer) as failure:
        await post("http://no-such-host.invalid/")
    assert failure.value.reason is FailureReason.DNS


async def test_an_address_or_header_that_cannot_be_sent_is_the_operators():
    with pytest.raises(ConfigError, match="the address or a header is not usable"):
        await post("http://[::1/")
    async with listening(answer()) as peer:
        with pytest.raises(ConfigError, match="the address or a header is not usable"):
            await post(peer.url, {"X-Key": "two\nlines"})
    assert peer.requests == []


async def test_a_certificate_is_checked_against_authority_and_name(certificates: Certificates):
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(certificates.certificate("server"), certificates.key("server"))
    known = TlsConfig(ca_file=certificates.authority, server_name="switch.example")
    async with listening(answer(), served) as peer:
        assert (await post(peer.url, tls=known)).accepted
        assert (await post(peer.url, tls=TlsConfig(insecure_skip_verify=True))).accepted
        for other in (TlsConfig(), known.model_copy(update={"server_name": "another.example"})):
            with pytest.raises(NoAnswer) as failure:
                await post(peer.url, tls=other)
            assert failure.value.reason is FailureReason.TLS, "retried: a certificate can be renewed"


async def test_certificates_are_read_at_start(tmp_path):
    with pytest.raises(ConfigError, match=r"ca_file .*none\.pem: No such file"):
        await HttpClient(timeout_s=1, tls=TlsConfig(ca_file=tmp_path / "none.pem")).start()


async def test_stop_is_safe_before_start_and_twice():
    client = HttpClient(timeout_s=1)
    await client.stop()
    await client.start()
    await client.stop()
    await client.stop()


@pytest.mark.parametrize(
    ("status", "accepted", "is_busy"),
    [(200, True, False), (204, True, False), (299, True, False), (301, False, False), (400, False, False),
     (404, False, False), (408, False, True), (425, False, True), (429, False, True), (500, False, True),
     (503, False, True)],
)  # fmt: skip
def test_what_a_status_means(status, accepted, is_busy):
    got = HttpAnswer(status, b"")
    assert (got.accepted, got.is_busy) == (accepted, is_busy)


@pytest.mark.parametrize(("header", "expected"), [(None, None), ("7", 7.0), ("86400", 300.0), ("soon", None)])
def test_a_wait_that_is_asked_for_is_bounded(header, expected):
    assert HttpAnswer(429, b"", header).after_s == expected


def test_an_explanation_is_one_harmless_line():
    assert HttpAnswer(400, b"\x1b[31mno\r\nway \xff").explanation(200) == "[31mno  way \ufffd"
    assert HttpAnswer(400, b"abcdef").explanation(3) == "abc"
