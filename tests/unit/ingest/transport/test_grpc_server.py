"""Our gRPC server beside grpcio's client, and beside clients by hand that are within the protocol."""

import asyncio
import gzip
import os
import ssl
import zlib
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from hpack import Decoder

from ingest.collectors.grpc_receiver import GrpcServer
from ingest.collectors.receiver_config import ReceiverConfig
from ingest.transport import http2_frames as frames
from ingest.transport.grpc_call import ServerCall
from ingest.transport.http2_frames import frame, number_frame, settings_frame
from ingest.transport.refusals import RefusalReason
from tests.servers.certificates import Certificates, make_certificates
from tests.unit.ingest.transport.grpc_serving import (
    BEGIN,
    ECHO,
    HOLD,
    STREAM,
    connected,
    data,
    grpc_message,
    headers,
    read_to_end,
    read_until,
    serving,
)


async def failure_of(call: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as failure:
        await call
    return failure.value.code(), str(failure.value.details())


@pytest.mark.parametrize("compression", list(grpc.Compression))
@pytest.mark.parametrize("size", [0, 5, 60_000])
async def test_a_call_is_answered(compression: grpc.Compression, size: int) -> None:
    message = os.urandom(size // 2) + bytes(size - size // 2)
    async with serving() as server:
        async with grpc.aio.insecure_channel(server.address, compression=compression) as channel:
            call: Any = channel.unary_unary(ECHO)
            assert await asyncio.gather(*(call(message) for _ in range(20))) == [message] * 20
        assert server.refused == []


async def test_thousands_of_calls_of_one_connection_are_no_flood() -> None:
    """A client sends credit and pings for each answer."""
    async with serving() as server, grpc.aio.insecure_channel(server.address) as channel:
        call: Any = channel.unary_unary(ECHO)
        for _ in range(30):
            await asyncio.gather(*(call(b"x" * 1000) for _ in range(100)))
        assert server.refused == []


async def test_a_stream_is_read_in_its_order_and_ends_well() -> None:
    sent = [os.urandom(n * 37 % 5000) for n in range(500)]

    async def requests() -> Any:
        for message in sent:
            yield message

    async with serving() as server:
        async with grpc.aio.insecure_channel(server.address) as channel:
            stream: Any = channel.stream_stream(STREAM)(requests())
            assert [answer async for answer in stream] == []
            assert await stream.code() is grpc.StatusCode.OK
        assert server.messages == sent


async def test_what_came_whole_is_read_when_the_client_has_gone() -> None:
    async with serving() as server:
        for end in (number_frame(frames.RST_STREAM, 1, frames.CANCEL), b""):
            async with connected(server) as (_, writer):
                writer.write(BEGIN + headers() + data(grpc_message(b"last") + grpc_message(b"half")[:7]) + end)
                await writer.drain()
        await server.until(lambda: server.messages == [b"last"] * 2)
        assert server.refused == []


async def test_messages_are_the_same_however_the_connection_is_cut() -> None:
    whole = BEGIN + headers(1, STREAM, ("te", "trailers")) + data(grpc_message(b"one") + grpc_message(b"two"))
    whole += data(b"\3" + grpc_message(b"padded") + bytes(3), flags=frames.PADDED | frames.END_STREAM)
    async with serving() as server, connected(server) as (_, writer):
        for at in range(len(whole)):
            writer.write(whole[at : at + 1])
            await writer.drain()
        await server.until(lambda: len(server.messages) == 3)
        assert server.messages == [b"one", b"two", b"padded"]


@pytest.mark.parametrize(
    ("path", "message", "options", "status", "details", "reason"),
    [
        ("/test.Test/None", b"", {}, "UNIMPLEMENTED", "no such method", RefusalReason.UNKNOWN_METHOD),
        (ECHO, bytes(2**16 + 1), {}, "RESOURCE_EXHAUSTED", "at most 65536", RefusalReason.TOO_LARGE),
        (
            ECHO, bytes(2**22), {"compression": grpc.Compression.Gzip}, "RESOURCE_EXHAUSTED", "decompressed",
            RefusalReason.TOO_LARGE,
        ),
        (HOLD, b"", {"timeout": 0.3}, "DEADLINE_EXCEEDED", "", None),
    ],
)  # fmt: skip
async def test_what_is_refused_has_its_status(
    path: str, message: bytes, options: Any, status: str, details: str, reason: RefusalReason | None
) -> None:
    async with serving() as server, grpc.aio.insecure_channel(server.address) as channel:
        call: Any = channel.unary_unary(path)
        code, said = await failure_of(call(message, **options))
        assert code.name == status
        assert details in said or reason is None
        assert server.refused == ([reason] if reason else server.refused)
        echo: Any = channel.unary_unary(ECHO)
        assert await echo(b"the connection goes on") == b"the connection goes on"


def trailers_of(said: bytes) -> dict[bytes, bytes]:
    """The last header block of stream 1."""
    found: dict[bytes, bytes] = {}
    while said:
        length, kind = int.from_bytes(said[:3], "big"), said[3]
        if kind == frames.HEADERS:
            found = dict(Decoder().decode(said[9 : 9 + length], raw=True))
        said = said[9 + length :]
    return found


@pytest.mark.parametrize(
    ("sent", "status", "message", "reason"),
    [
        (headers(1, ECHO, flags=5), b"13", b"expected one message", RefusalReason.CARDINALITY),
        (
            headers(1, ECHO) + data(grpc_message(b"a") + grpc_message(b"b"), flags=1), b"13", b"expected one message",
            RefusalReason.CARDINALITY,
        ),
        (headers() + data(b"\0\0\0\0\5hal", flags=1), b"13", b"a message that is cut off", RefusalReason.CARDINALITY),
        (
            headers() + data(grpc_message(b"x", 1)), b"13", b"a compressed message, which was not asked for",
            RefusalReason.ENCODING,
        ),
        (
            headers(1, STREAM, ("grpc-encoding", "snappy")), b"12",
            b"expected grpc-encoding identity, gzip or deflate", RefusalReason.ENCODING,
        ),
        (
            headers(1, STREAM, ("grpc-encoding", "gzip")) + data(grpc_message(gzip.compress(b"half", mtime=0)[:-3], 1)),
            b"13", b"a damaged message", RefusalReason.ENCODING,
        ),
        (
            headers(1, STREAM, ("grpc-encoding", "deflate")) + data(grpc_message(zlib.compress(b"x") + b"y", 1)),
            b"13", b"a damaged message", RefusalReason.ENCODING,
        ),
        (headers(1, STREAM, ("grpc-timeout", "soon")), b"13", b"grpc-timeout that is none", RefusalReason.NOT_GRPC),
        (headers(1, HOLD, ("grpc-timeout", "20m")), b"4", b"the client's deadline is over", RefusalReason.DEADLINE),
        (
            headers(1, HOLD, ("content-type", "text/html")), b"13", b"expected POST of application/grpc",
            RefusalReason.NOT_GRPC,
        ),
    ],
    ids=(
        "no message", "two messages", "a cut one", "compressed unasked", "unknown encoding", "damaged gzip",
        "bytes after deflate", "no timeout", "past the deadline", "a web page",
    ),
)  # fmt: skip
async def test_calls_that_are_none_of_grpc(sent: bytes, status: bytes, message: bytes, reason: RefusalReason) -> None:
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(BEGIN + sent)
        ping = frame(frames.PING, 0, 0, b"thats it")
        await server.until(lambda: server.refused)
        writer.write(ping)
        said = trailers_of(await read_until(reader, b"thats it"))
        assert (said[b":status"], said[b"grpc-status"], said[b"grpc-message"]) == (b"200", status, message)
        assert server.refused == [reason]


async def test_packed_messages_are_unpacked_as_they_are_read() -> None:
    """Each unpacks to the limit: together they would be a hundred times what one may have."""
    bomb = grpc_message(gzip.compress(bytes(2**16)), 1)
    async with serving() as server, connected(server) as (_, writer):
        writer.write(BEGIN + headers(1, STREAM, ("grpc-encoding", "gzip")) + data(bomb * 100))
        await server.until(lambda: len(server.messages) == 100)
        assert set(server.messages) == {bytes(2**16)}


async def test_an_answer_waits_for_the_credit_of_its_client() -> None:
    message = os.urandom(40_000)
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(frames.PREFACE + settings_frame((frames.INITIAL_WINDOW, 0)) + headers(1, ECHO))
        for at in range(0, len(message) + 5, 16_384):
            writer.write(data(grpc_message(message)[at : at + 16_384]))
        writer.write(data(b"", flags=frames.END_STREAM) + frame(frames.PING, 0, 0, b"unsent.."))
        said = await read_until(reader, b"unsent..")
        assert message[:100] not in said
        writer.write(number_frame(frames.WINDOW_UPDATE, 1, 20_005) + frame(frames.PING, 0, 0, b"in parts"))
        assert message[16_379:20_000] in await read_until(reader, b"in parts")
        writer.write(settings_frame((frames.INITIAL_WINDOW, 20_000)))
        await read_until(reader, message[-3_000:])


async def test_large_messages_beside_each_other_all_arrive() -> None:
    """They come in parts in turns: none has to wait for the end of another one."""
    messages = [os.urandom(3 * 2**20) for _ in range(12)]
    async with serving(message_bytes_max=2**22) as server:
        options = [("grpc.max_receive_message_length", -1)]
        async with grpc.aio.insecure_channel(server.address, options) as channel:
            call: Any = channel.unary_unary(ECHO)
            assert await asyncio.gather(*map(call, messages)) == messages
        assert server.refused == []


async def test_a_stop_lets_calls_end_and_takes_no_more() -> None:
    async with serving(grace_s=30.0) as server:
        channel = grpc.aio.insecure_channel(server.address)
        call: Any = channel.unary_unary(HOLD)
        waiting = asyncio.create_task(_result(call, b"answered"))
        async with connected(server) as (reader, writer):
            writer.write(BEGIN + headers(1, HOLD))
            await server.until(lambda: server.held_calls == 2)
            stopping = asyncio.create_task(server.listener.stop(30.0))
            await read_until(reader, b"the receiver stops")
            writer.write(headers(3, HOLD))
            await read_until(reader, number_frame(frames.RST_STREAM, 3, frames.REFUSED_STREAM))
            server.may_answer.set()
            writer.write(data(grpc_message(b"too"), flags=frames.END_STREAM))
            await read_until(reader, grpc_message(b"too"))
            await read_to_end(reader)
        await stopping
        assert await waiting == b"answered"
        await channel.close()


async def _result(call: Any, message: bytes) -> bytes:
    return bytes(await call(message))


async def test_a_stream_is_ended_by_a_stop() -> None:
    async with serving() as server, grpc.aio.insecure_channel(server.address) as channel:
        stream: Any = channel.stream_stream(STREAM)()
        await stream.write(b"one")
        await server.until(lambda: server.messages)
        await server.listener.stop(0.0)
        assert await stream.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_client_without_a_call_is_sent_away(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.transport.grpc_connection.IDLE_S", 0.0)
    monkeypatch.setattr("ingest.transport.grpc_connection._KEEPALIVE_S", 0.1)
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(BEGIN)
        assert b"no call for" in await read_to_end(reader)
        assert server.refused == [RefusalReason.IDLE]


async def test_a_quiet_client_is_pinged_and_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.transport.grpc_connection._KEEPALIVE_S", 0.1)
    monkeypatch.setattr("ingest.transport.grpc_connection._PING_TIMEOUT_S", 2.0)
    async with serving() as server, connected(server) as (reader, writer):
        writer.write(BEGIN + headers())
        for _ in range(2):
            await read_until(reader, frame(frames.PING, 0, 0, b"fabricsc"))
            writer.write(frame(frames.PING, frames.ACK, 0, b"fabricsc"))
        assert server.refused == []


# ---- TLS


def tls_context(certificates: Certificates, *alpn: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=certificates.authority)
    if alpn:
        context.set_alpn_protocols(list(alpn))
    return context


async def tls_server(certificates: Certificates) -> GrpcServer:
    async def echo(call: ServerCall) -> bytes:
        return await call.only_message()

    tls = {"cert_file": certificates.certificate("server"), "key_file": certificates.key("server")}
    config = ReceiverConfig.model_validate(
        {"job_name": "tls", "listen": "127.0.0.1:0", "allow": ["127.0.0.1"], "tls": tls}
    )
    server = GrpcServer(config, 2**16, {ECHO: echo}, connections_max=10)
    await server.start()
    return server


async def serial_of(server: GrpcServer, certificates: Certificates) -> str:
    context = tls_context(certificates, "h2")
    _, writer = await asyncio.open_connection("127.0.0.1", server.port, ssl=context, server_hostname="switch.example")
    serial = str(writer.get_extra_info("ssl_object").getpeercert()["serialNumber"])
    writer.close()
    return serial


async def test_a_certificate_that_was_replaced_is_used_by_the_next_connection(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path)
    server = await tls_server(certificates)
    try:
        first = await serial_of(server, certificates)
        certificates.certificate("server").write_text("in rotation")
        assert await serial_of(server, certificates) == first
        make_certificates(tmp_path)
        assert await serial_of(server, certificates) != first
    finally:
        await server.stop()


@pytest.mark.parametrize("alpn", [(), ("http/1.1",)])
async def test_a_client_that_does_not_agree_on_http2_is_sent_away(
    certificates: Certificates, alpn: tuple[str, ...]
) -> None:
    server = await tls_server(certificates)
    try:
        reader, writer = await asyncio.open_connection(
            "127.0.0.1", server.port, ssl=tls_context(certificates, *alpn), server_hostname="switch.example"
        )
        writer.write(BEGIN)
        assert frame(frames.SETTINGS, frames.ACK, 0, b"") not in await read_to_end(reader)
        writer.close()
    finally:
        await server.stop()


async def test_a_handshake_that_never_ends_is_ended(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ingest.transport.listener.HANDSHAKE_S", 0.1)
    server = await tls_server(certificates)
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(b"\x16\x03\x01")
        assert await read_to_end(reader) == b""
        writer.close()
    finally:
        await server.stop()
