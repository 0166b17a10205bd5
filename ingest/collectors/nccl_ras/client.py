"""Asks the RAS subsystem of a job: a line for a command, and what it answers to ``STATUS`` until it closes."""

import asyncio
import socket
from collections.abc import Sequence
from typing import NamedTuple

from ingest.collectors.command import NoAnswer, check_size, raise_without_descriptors
from ingest.collectors.nccl_ras.config import host_and_port
from telemetry.samples import DownReason

_CHUNK = 64 * 1024
_LINE_BYTES_MAX = 4096


class Reply(NamedTuple):
    body: bytes
    is_json: bool


async def first_reply(addresses: Sequence[str], timeout_s: float, bytes_max: int) -> Reply:
    """Of the first address at which RAS greets; it may take as long for its answer as is left of ``timeout_s``.

    NoAnswer with the reason of the last address; TimeoutError where RAS greets and does not answer in time.
    """
    greeting_s = timeout_s / (len(addresses) + 1)
    failed = NoAnswer(DownReason.REFUSED, "no address")
    async with asyncio.timeout(timeout_s):
        for address in addresses:
            connection = _Connection()
            try:
                async with asyncio.timeout(greeting_s):
                    is_json = await connection.greet(address)
                return Reply(await connection.status(is_json, bytes_max), is_json)
            except TimeoutError:
                if connection.greeted:
                    raise
                failed = NoAnswer(DownReason.TIMEOUT, f"{address}: no greeting in time")
            except NoAnswer as error:
                if connection.greeted:
                    raise
                failed = error
            finally:
                connection.close()
    raise failed


class _Connection:
    """greeted: RAS is at the other end."""

    def __init__(self) -> None:
        self.greeted = False
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def greet(self, address: str) -> bool:
        """Whether it answers in JSON: NCCL before 2.28.7 does not know that command, and goes on in text."""
        host, port = host_and_port(address)
        try:
            self._streams = await asyncio.open_connection(host, port, limit=_LINE_BYTES_MAX)
            if not (await self._ask("CLIENT PROTOCOL 2")).startswith(b"SERVER PROTOCOL "):
                raise NoAnswer(DownReason.BAD_FORMAT, f"{address}: expected 'SERVER PROTOCOL'")
            is_json = await self._ask("SET FORMAT json") == b"OK"
        except OSError as error:
            raise _failure(error, address) from error
        self.greeted = True
        return is_json

    async def status(self, is_json: bool, bytes_max: int) -> bytes:
        assert self._streams is not None
        reader, writer = self._streams
        body = bytearray()
        try:
            writer.write(b"STATUS\n" if is_json else b"VERBOSE STATUS\n")
            while chunk := await reader.read(_CHUNK):
                body += chunk
                check_size(len(body), bytes_max)
        except OSError as error:
            raise _failure(error, "STATUS") from error
        if not body:
            raise NoAnswer(DownReason.CLOSED, "STATUS: closed without an answer")
        return bytes(body)

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].transport.abort()

    async def _ask(self, command: str) -> bytes:
        """The line that it answers."""
        assert self._streams is not None
        reader, writer = self._streams
        writer.write(f"{command}\n".encode())
        try:
            line = await reader.readline()
        except ValueError as error:
            raise NoAnswer(DownReason.BAD_FORMAT, f"{command}: a line of more than {_LINE_BYTES_MAX} bytes") from error
        if not line.endswith(b"\n"):
            raise NoAnswer(DownReason.CLOSED, f"{command}: closed")
        return line.rstrip()


def _failure(error: OSError, at: str) -> NoAnswer:
    raise_without_descriptors(error)
    if isinstance(error, socket.gaierror):
        return NoAnswer(DownReason.DNS, f"{at}: {error.strerror}")
    if isinstance(error, TimeoutError):
        return NoAnswer(DownReason.TIMEOUT, f"{at}: {error}")
    is_reset = isinstance(error, ConnectionResetError | BrokenPipeError)
    return NoAnswer(DownReason.RESET if is_reset else DownReason.REFUSED, f"{at}: {error}")
