"""What a command prints or a file holds: read every interval by collectors of what has no address."""

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from common.errors import BadInput
from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.command_config import CommandConfig
from telemetry.samples import DownReason

_CHUNK = 64 * 1024
_KILL_S = 1.0


class NoAnswer(Exception):
    """A collection without an answer."""

    def __init__(self, reason: DownReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def reason_of(error: Exception) -> DownReason:
    """Why a collection failed, by what was raised."""
    if isinstance(error, NoAnswer):
        return error.reason
    if isinstance(error, BadInput):
        return DownReason(error.reason) if error.reason in set(DownReason) else DownReason.BAD_FORMAT
    return DownReason.TIMEOUT if isinstance(error, TimeoutError) else DownReason.INTERNAL


class Command:
    """A program and its first arguments, without a shell. What it starts itself ends with it.

    One that waits for a broken device cannot be killed: then none is started until it is gone, so that they do not pile
    up.
    """

    def __init__(self, command: Sequence[str], bytes_max: int) -> None:
        self._command, self._bytes_max = command, bytes_max
        self._last: asyncio.subprocess.Process | None = None

    async def read(self, *arguments: str) -> bytes:
        """What it prints on its standard output. NoAnswer where it cannot be run, fails, or prints too much.

        Cancelled, as by a deadline, it ends the program and all that this has started.
        """
        command = (*self._command, *arguments)
        if self._last is not None and self._last.returncode is None:
            raise NoAnswer(DownReason.TIMEOUT, f"{command[0]} of an earlier collection cannot be ended")
        try:
            process = self._last = await _started(command)
        except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
            raise_without_descriptors(error)
            raise NoAnswer(DownReason.REFUSED, f"{command[0]}: {error}") from error
        try:
            return await self._output(process)
        finally:
            await _end(process)

    async def _output(self, process: asyncio.subprocess.Process) -> bytes:
        assert process.stdout is not None
        body = bytearray()
        while chunk := await process.stdout.read(_CHUNK):
            body += chunk
            check_size(len(body), self._bytes_max)
        if code := await process.wait():
            raise NoAnswer(DownReason.CLOSED, f"{self._command[0]} exited with {code}")
        return bytes(body)


class Output:
    """What a command prints, or a file with its output holds."""

    def __init__(self, config: CommandConfig) -> None:
        self._config, self._command = config, Command(config.command, config.body_bytes_max)

    async def read(self) -> bytes:
        """As it is now. NoAnswer with the reason; TimeoutError after ``timeout_s``."""
        async with asyncio.timeout(self._config.timeout_s):
            if self._config.file is None:
                return await self._command.read()
            return await read_file(self._config.file, self._config.body_bytes_max)


async def read_file(file: Path, bytes_max: int) -> bytes:
    """In a thread: a file on a network may hang. NoAnswer where it cannot be read, or is larger than ``bytes_max``."""
    try:
        body = await asyncio.to_thread(_read, file, bytes_max + 1)
    except OSError as error:
        raise_without_descriptors(error)
        raise NoAnswer(DownReason.REFUSED, f"{file}: {error.strerror}") from error
    check_size(len(body), bytes_max)
    return body


def check_size(size: int, bytes_max: int) -> None:
    """NoAnswer for an answer that is larger than it may be."""
    if size > bytes_max:
        raise NoAnswer(DownReason.TOO_LARGE, f"more than {bytes_max} bytes")


def raise_without_descriptors(error: Exception) -> None:
    """OutOfDescriptors where the error is that this machine or process has none left: no fault of the source."""
    if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
        raise OutOfDescriptors from None


async def _started(command: Sequence[str]) -> asyncio.subprocess.Process:
    """In a session of its own. One that has started is ended where nobody waits for it any more."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(*command, stdin=nothing, stdout=pipe, stderr=nothing, start_new_session=True)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError, ValueError):
            await _end(await starting)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """With all of its session, which is named as it is. What it has printed is read to its end, which closes the pipe:
    left open, that is closed when nobody runs the event loop any more."""
    assert process.stdout is not None
    if process.returncode is not None and process.stdout.at_eof():
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILL_S):
            while await process.stdout.read(_CHUNK):
                pass
            await process.wait()


def _read(file: Path, size: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(size)
