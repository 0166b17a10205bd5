"""Asks the RAS subsystem of a job: a line for a command, what it answers to ``STATUS`` until it closes, and what it
streams after ``MONITOR``.
"""

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


class Greeted(NamedTuple):
    """is_json: it answers in JSON. NCCL before 2.28.7 does not know that command, and goes on in text."""

    connection: "Connection"
    is_json: bool


async def first_reply(addresses: Sequence[str], timeout_s: float, bytes_max: int) -> Reply:
    """Of the first address at which RAS greets; it may take as long for its answer as is left of ``timeout_s``.

    NoAnswer with the reason of the last address; TimeoutError where RAS greets and does not answer in time.
    """
    async with asyncio.timeout(timeout_s):
        connection, is_json = await first_greeting(addresses, timeout_s)
        try:
            return Reply(await connection.status(is_json, bytes_max), is_json)
        finally:
            connection.close()


async def first_greeting(addresses: Sequence[str], timeout_s: float) -> Greeted:
    """The first address at which RAS greets, each within its part of ``timeout_s``. The caller closes it.

    NoAnswer with the reason of the last address.
    """
    greeting_s = timeout_s / (len(addresses) + 1)
    failed = NoAnswer(DownReason.REFUSED, "no address")
    for address in addresses:
        connection = Connection()
        is_json: bool | None = None
        try:
            async with asyncio.timeout(greeting_s):
                is_json = await connection.greet(address)
            return Greeted(connection, is_json)
        except TimeoutError:
            failed = NoAnswer(DownReason.TIMEOUT, f"{address}: no greeting in time")
        except NoAnswer as error:
            failed = error
        finally:
            if is_json is None:
                connection.close()
    raise failed


class Connection:
    """To one process of the job, one user of it at a time."""

    def __init__(self) -> None:
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def greet(self, address: str) -> bool:
        """Whether it answers in JSON."""
        host, port = host_and_port(address)
        try:
            self._streams = await asyncio.open_connection(host, port, limit=_LINE_BYTES_MAX)
            if not (await self._ask("CLIENT PROTOCOL 2")).startswith(b"SERVER PROTOCOL "):
                raise NoAnswer(DownReason.BAD_FORMAT, f"{address}: expected 'SERVER PROTOCOL'")
            return await self._ask("SET FORMAT json") == b"OK"
        except OSError as error:
            raise _failure(error, address) from error

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

    async def monitor(self) -> bool:
        """Whether it streams its events from now on, of both groups; NCCL before 2.29 does not."""
        try:
            return await self._ask("MONITOR lifecycle,trace") == b"OK"
        except OSError as error:
            raise _failure(error, "MONITOR") from error

    async def read(self, quiet_s: float, timeout_s: float) -> bytes:
        """What it streams. After ``quiet_s`` without anything it is asked for a sign of life, which is read here too:
        a process that was stopped, or a host that is gone, closes nothing. NoAnswer where that does not come in time,
        and at the end.
        """
        assert self._streams is not None
        reader, writer = self._streams
        try:
            try:
                async with asyncio.timeout(quiet_s):
                    chunk = await reader.read(_CHUNK)
            except TimeoutError:
                writer.write(b"CLIENT PROTOCOL 2\n")
                async with asyncio.timeout(timeout_s):
                    chunk = await reader.read(_CHUNK)
        except TimeoutError as error:
            raise NoAnswer(DownReason.SILENT, "MONITOR: no sign of life in time") from error
        except OSError as error:
            raise _failure(error, "MONITOR") from error
        if not chunk:
            raise NoAnswer(DownReason.CLOSED, "MONITOR: closed")
        return chunk

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
