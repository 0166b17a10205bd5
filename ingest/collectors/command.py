"""What a command prints or a file holds: read every interval by collectors of what has no address."""

import asyncio
import contextlib
import errno
import os
import signal
from collections.abc import Sequence
from pathlib import Path

from ingest.admission.reasons import OutOfDescriptors
from ingest.collectors.command_config import CommandConfig
from telemetry.samples import DownReason

_CHUNK = 64 * 1024


class NoAnswer(Exception):
    """A collection without an answer."""

    def __init__(self, reason: DownReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


async def read_output(config: CommandConfig) -> bytes:
    """What the command prints, or the file holds, now. NoAnswer with the reason; TimeoutError after ``timeout_s``."""
    async with asyncio.timeout(config.timeout_s):
        if config.command:
            return await run_command(config.command, config.body_bytes_max)
        assert config.file is not None
        return await read_file(config.file, config.body_bytes_max)


async def run_command(command: Sequence[str], bytes_max: int) -> bytes:
    """What a program prints on its standard output, without a shell. NoAnswer where it cannot be run, fails, or prints
    more than ``bytes_max``. Cancelled, as by a deadline, it ends the program and all that this has started.
    """
    program, *arguments = command
    try:
        process = await asyncio.create_subprocess_exec(
            program,
            *arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:  # ValueError: a zero byte in an argument
        raise_without_descriptors(error)
        raise NoAnswer(DownReason.REFUSED, f"{program}: {error}") from error
    assert process.stdout is not None
    body, is_whole = bytearray(), False
    try:
        while chunk := await process.stdout.read(_CHUNK):
            body += chunk
            check_size(len(body), bytes_max)
        is_whole = True
        if code := await process.wait():
            raise NoAnswer(DownReason.CLOSED, f"{program} exited with {code}")
    finally:
        if not is_whole or process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    return bytes(body)


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


def _read(file: Path, size: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(size)
