"""Where a target is: the parts of its URL, and the request that goes there."""

import asyncio

import pytest

from ingest.transport.http1 import FetchFailed, HttpClient, Url
from telemetry.samples import DownReason


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        (Url("http", "a", 80, "/"), "a"),
        (Url("https", "a", 443, "/"), "a"),
        (Url("http", "a", 9100, "/"), "a:9100"),
        (Url("https", "a", 80, "/"), "a:80"),
        (Url("http", "::1", 9100, "/"), "[::1]:9100"),
        (Url("http", "fe80::1", 80, "/"), "[fe80::1]"),
    ],
)
def test_the_authority_names_a_port_that_is_not_the_scheme_s_own(url: Url, authority: str) -> None:
    assert url.authority == authority


@pytest.mark.parametrize(
    ("address", "path", "params", "expected"),
    [
        ("a:9100", "/metrics", {}, Url("http", "a", 9100, "/metrics")),
        ("a", "/metrics", {}, Url("http", "a", 80, "/metrics")),
        ("[::1]:9100", "/metrics", {}, Url("http", "::1", 9100, "/metrics")),
        ("a", "/probe", {"module": ("tcp",)}, Url("http", "a", 80, "/probe?module=tcp")),
        ("a", "/probe", {"x": ("1", "2"), "y": ("a b&c",)}, Url("http", "a", 80, "/probe?x=1&x=2&y=a+b%26c")),
        ("a", "/with space", {}, Url("http", "a", 80, "/with%20space")),
        ("a", "/x\r\nInjected: y", {}, Url("http", "a", 80, "/x%0D%0AInjected:%20y")),
    ],
)
def test_urls_of_targets(address: str, path: str, params: dict[str, tuple[str, ...]], expected: Url) -> None:
    assert Url.build("http", address, path, params) == expected


@pytest.mark.parametrize("address", ["http://a:9100", "a:9100/metrics"])
def test_the_address_of_a_page_is_none_of_a_host(address: str) -> None:
    with pytest.raises(ValueError, match="expected host:port"):
        Url.build("http", address, "/metrics", {})


async def requested(client_headers: dict[str, str], path: str = "/metrics") -> bytes:
    """The request as a server receives it."""
    received = asyncio.get_running_loop().create_future()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.set_result(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        client = HttpClient(Url("http", "127.0.0.1", port, path), headers=client_headers)
        await client.fetch(asyncio.get_running_loop().time() + 60)
        await client.stop()
        request: bytes = await received
        return request.replace(str(port).encode(), b"PORT")


async def test_the_request_names_host_and_headers() -> None:
    assert await requested({"Accept": "text/plain", "X-Y": "z"}) == (
        b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nAccept: text/plain\r\nX-Y: z\r\n\r\n"
    )


@pytest.mark.parametrize("value", ["a\nb", "a\r\nInjected: b"])
async def test_a_header_with_a_line_feed_is_refused_before_anything_is_sent(value: str) -> None:
    with pytest.raises(FetchFailed) as caught:
        await requested({"Authorization": value})
    assert caught.value.reason is DownReason.AUTH
    assert "Injected" not in str(caught.value)
