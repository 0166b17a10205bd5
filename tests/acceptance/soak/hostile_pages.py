"""What hostile exporters answer, by the name of their kind."""

import asyncio
import gzip
import itertools
import ssl
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from tests.servers.answers import Answer, bomb, endless, one_byte_a_second, reset, respond, silence

SERIES, HOUR_S = 100, 3600
_PAGE = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-0"} 40\n'
_BOMB_BYTES = 70 * 2**20
_names = itertools.count()


def answers() -> Mapping[str, Answer]:
    """Those that are large are made once."""
    return {
        "never_answers": silence,
        "byte_a_second": one_byte_a_second,
        "gzip_bomb": respond(bomb(_BOMB_BYTES), "Content-Encoding: gzip"),
        "endless_body": endless,
        "login_page": respond(b"<!DOCTYPE html><html>Log in</html>", "Content-Type: text/html"),
        "reset_in_body": reset,
        "million_series": respond(_million_series(), "Content-Encoding: gzip"),
        "clock_ahead": _at(HOUR_S),
        "clock_behind": _at(-HOUR_S - 60),
        "renamed_labels": _renamed,
        "redirect": respond(b"", "Location: http://169.254.169.254/latest", status="302 Found"),
        "nested_gzip": respond(gzip.compress(gzip.compress(_PAGE.encode())), "Content-Encoding: gzip"),
        "long_label": respond(b'a{b="' + b"x" * 1_000_000 + b'"} 1\n'),
        "tls_untrusted": respond(_PAGE.encode()),
        "tls_other_name": respond(_PAGE.encode()),
    }


async def speaks_no_tls(writer: asyncio.StreamWriter) -> None:
    """As servers without TLS answer to its first message."""
    await respond(b"", "Connection: close", status="400 Bad Request")(writer)
    await writer.drain()


async def serve_pages(answer: Answer, addresses: Sequence[str], port: int, tls: ssl.SSLContext | None) -> None:
    """Returns when all addresses answer."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
                while not writer.is_closing():
                    await reader.readuntil(b"\r\n\r\n")
                    await answer(writer)
                    await writer.drain()
        finally:
            writer.close()

    await asyncio.start_server(serve, addresses, port, ssl=tls)


def _million_series() -> bytes:
    lines = (f'DCGM_FI_DEV_GPU_TEMP{{gpu="{n}",UUID="GPU-{n}"}} 40\n' for n in range(1_000_000))
    return gzip.compress("".join(lines).encode(), compresslevel=1)


def _at(ahead_s: int) -> Answer:
    """A page whose samples have a time, by a clock that is wrong."""

    async def answer(writer: asyncio.StreamWriter) -> None:
        milliseconds = int((time.time() + ahead_s) * 1000)
        await respond(_PAGE.replace("\n", f" {milliseconds}\n").encode())(writer)

    return answer


async def _renamed(writer: asyncio.StreamWriter) -> None:
    """A page of interfaces that were never there before, as those of containers that come and go."""
    name = next(_names)
    lines = (f'node_network_receive_bytes_total{{device="veth{name}-{n}"}} 40\n' for n in range(SERIES))
    await respond("".join(lines).encode())(writer)
