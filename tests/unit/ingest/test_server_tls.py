"""Certificates of a receiver that change on the disk while it listens."""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
from aiohttp import web

from ingest.collectors.http_receiver import HttpServer
from ingest.collectors.receiver_config import ServerTlsConfig
from tests.servers.certificates import Certificates, make_certificates


@asynccontextmanager
async def serving(made: Certificates, authority: Path | None = None) -> AsyncIterator[HttpServer]:
    """authority: of the clients that it lets in, None for all."""

    async def answer(request: web.Request) -> web.Response:
        return web.Response(status=204)

    files = {"cert_file": made.certificate("server"), "key_file": made.key("server"), "client_ca_file": authority}
    tls = ServerTlsConfig.model_validate(files)
    server = HttpServer("tests", "127.0.0.1:0", tls, answer, connections_max=10, body_bytes_max=1)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


def client_of(made: Certificates) -> ssl.SSLContext:
    """With its certificate, as its files are now."""
    context = ssl.create_default_context(cafile=made.authority)
    context.load_cert_chain(made.certificate("client"), made.key("client"))
    return context


async def serial_of(server: HttpServer, made: Certificates) -> str:
    """Of the certificate that it shows a new connection."""
    context = ssl.create_default_context(cafile=made.authority)
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context, server_hostname="switch.example")
    serial = str(writer.get_extra_info("ssl_object").getpeercert()["serialNumber"])
    writer.close()
    return serial


async def is_let_in(server: HttpServer, client: ssl.SSLContext) -> bool:
    url = f"https://127.0.0.1:{server.port}"
    try:
        async with aiohttp.ClientSession() as session, session.get(url, ssl=client) as answer:
            return answer.status == 204
    except aiohttp.ClientError:
        return False


async def test_a_certificate_that_is_replaced_is_used(tmp_path: Path) -> None:
    made = make_certificates(tmp_path)
    file = made.certificate("server")
    async with serving(made) as server:
        first = await serial_of(server, made)
        whole = file.read_bytes()
        file.write_text("half a certificate")
        for _ in range(2):
            assert await serial_of(server, made) == first, "what was loaded stays"
        file.write_bytes(whole)
        assert await serial_of(server, made) == first
        make_certificates(tmp_path)
        assert await serial_of(server, made) != first


async def test_clients_of_an_authority_that_is_replaced_are_let_in(tmp_path: Path) -> None:
    (others := tmp_path / "others").mkdir()
    ours, theirs = make_certificates(tmp_path), make_certificates(others)
    authority = tmp_path / "clients.pem"
    authority.write_bytes(theirs.authority.read_bytes())
    async with serving(ours, authority) as server:
        client = client_of(ours)
        assert not await is_let_in(server, client)
        authority.write_bytes(ours.authority.read_bytes())
        assert await is_let_in(server, client)
