"""Answers to one HTTP request, most of them wrong: each writes to the connection, or does not."""

import asyncio
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable

Answer = Callable[[asyncio.StreamWriter], Awaitable[None]]


def raw(data: bytes, *, close: bool = False) -> Answer:
    async def answer(writer: asyncio.StreamWriter) -> None:
        writer.write(data)
        if close:
            writer.close()

    return answer


def respond(body: bytes, *headers: str, status: str = "200 OK") -> Answer:
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *(headers or ("Content-Type: text/plain",))]
    return raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)


def chunked(body: bytes, size: int, *headers: str) -> Answer:
    chunks = b"".join(
        b"%x\r\n%b\r\n" % (len(body[i : i + size]), body[i : i + size]) for i in range(0, len(body), size)
    )
    head = "\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *headers])
    return raw(head.encode() + b"\r\n\r\n" + chunks + b"0\r\n\r\n")


async def endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"# comment\n" * 10_000)
        await writer.drain()


async def one_byte_a_second(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b"#")
        await writer.drain()
        await asyncio.sleep(1)


async def silence(writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(3600)


async def reset(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\na")
    await writer.drain()
    connection: socket.socket = writer.get_extra_info("socket")
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # close with RST
    writer.transport.abort()


def bomb(bytes_inside: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    block = b"# " + b"\0" * 65_533 + b"\n"
    return b"".join([*(packer.compress(block) for _ in range(bytes_inside // len(block))), packer.flush()])
