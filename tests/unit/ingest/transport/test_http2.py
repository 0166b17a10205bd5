"""Messages in a stream that is cut anywhere, and peers that speak something else than gRPC."""

import asyncio
import random

import pytest

from ingest.collectors.gnmi.channel import subscribe
from ingest.collectors.gnmi.config import Config, GnmiTlsConfig, TargetConfig
from ingest.transport.grpc_messages import CallEnded, MessageReader
from telemetry.samples import DownReason


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def test_messages_come_out_however_the_stream_is_cut() -> None:
    dice = random.Random(3)
    messages = [dice.randbytes(dice.choice((0, 1, 4, 40, 5000))) for _ in range(200)]
    stream, reader, at = b"".join(map(framed, messages)), MessageReader(10_000), 0
    while at < len(stream):
        end = min(len(stream), at + dice.choice((1, 3, 7, 100, 9000)))
        reader.feed(stream, at, end)
        at = end
    assert reader.messages == messages


@pytest.mark.parametrize(
    ("data", "reason"),
    [(framed(bytes(11)), DownReason.TOO_LARGE), (b"\1" + framed(b"x")[1:], DownReason.BAD_ENCODING)],
)
def test_a_compressed_or_too_large_message_ends_the_call(data: bytes, reason: DownReason) -> None:
    with pytest.raises(CallEnded) as ended:
        MessageReader(10).feed(data, 0, len(data))
    assert ended.value.reason is reason


SETTINGS = bytes.fromhex("000000 04 00 00000000")
GOAWAY = bytes.fromhex("000016 07 00 00000000 00000001 0000000b") + b"too_many_pings"
RESET = bytes.fromhex("000004 03 00 00000001 00000002")
NOT_FOUND = bytes.fromhex("000001 01 05 00000001 8d")


@pytest.mark.parametrize(
    ("answer", "reason", "message"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", DownReason.BAD_FORMAT, "not HTTP/2"),
        (SETTINGS + GOAWAY, DownReason.CLOSED, "too_many_pings"),
        (SETTINGS + RESET, DownReason.CLOSED, "code 2"),
        (SETTINGS + NOT_FOUND, DownReason.HTTP_STATUS, "404"),
        (SETTINGS, DownReason.CLOSED, "closed"),
    ],
    ids=["http/1", "goaway", "reset", "404", "closed"],
)
async def test_each_way_not_to_stream_has_its_reason(answer: bytes, reason: DownReason, message: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(24)
        writer.write(answer)
        await writer.drain()
        writer.write_eof()
        await reader.read()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        target = TargetConfig(address=f"127.0.0.1:{server.sockets[0].getsockname()[1]}", device="leaf1")
        config = Config(targets=(target,), tls=GnmiTlsConfig(insecure=True))
        call = await subscribe(config, target, b"", 30.0)
        with pytest.raises(CallEnded, match=message) as ended:
            await call.read()
        assert ended.value.reason is reason
