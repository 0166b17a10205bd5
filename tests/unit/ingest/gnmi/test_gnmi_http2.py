"""Messages in a stream that is cut anywhere, and peers that speak something else than gRPC."""

import asyncio
import random

import pytest

from ingest.collectors.gnmi.channel import subscribe
from ingest.collectors.gnmi.config import Config, GnmiTlsConfig, TargetConfig
from ingest.transport.grpc_messages import CallEnded, Inbox
from telemetry.samples import Down


def framed(message: bytes) -> bytes:
    return b"\0" + len(message).to_bytes(4, "big") + message


def test_messages_come_out_however_the_stream_is_cut() -> None:
    dice = random.Random(3)
    messages = [dice.randbytes(dice.choice((0, 1, 4, 40, 5000))) for _ in range(200)]
    stream, inbox, at = b"".join(map(framed, messages)), Inbox(10_000), 0
    while at < len(stream):
        end = min(len(stream), at + dice.choice((1, 3, 7, 100, 9000)))
        inbox.take(stream, at, end)
        at = end
    assert inbox.messages == messages


@pytest.mark.parametrize(
    ("data", "down"),
    [(framed(bytes(11)), Down.TOO_LARGE), (b"\1" + framed(b"x")[1:], Down.BAD_ENCODING)],
)
def test_what_was_not_asked_for_ends_the_call(data: bytes, down: Down) -> None:
    with pytest.raises(CallEnded) as ended:
        Inbox(10).take(data, 0, len(data))
    assert ended.value.down is down


SETTINGS = bytes.fromhex("000000 04 00 00000000")
GOAWAY = bytes.fromhex("000016 07 00 00000000 00000001 0000000b") + b"too_many_pings"
RESET = bytes.fromhex("000004 03 00 00000001 00000002")
NOT_FOUND = bytes.fromhex("000001 01 05 00000001 8d")


@pytest.mark.parametrize(
    ("answer", "down", "words"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", Down.BAD_FORMAT, "not HTTP/2"),
        (SETTINGS + GOAWAY, Down.CLOSED, "too_many_pings"),
        (SETTINGS + RESET, Down.CLOSED, "code 2"),
        (SETTINGS + NOT_FOUND, Down.HTTP_STATUS, "404"),
        (SETTINGS, Down.CLOSED, "closed"),
    ],
    ids=["http/1", "goaway", "reset", "404", "closed"],
)
async def test_peers_that_do_not_stream_are_told_apart(answer: bytes, down: Down, words: str) -> None:
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
        with pytest.raises(CallEnded, match=words) as ended:
            await call.read()
        assert ended.value.down is down
