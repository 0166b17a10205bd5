"""A program of this machine that may hang where nothing can end it."""

import asyncio
import contextlib
import os
import signal

from ingest.collectors.command import NoAnswer, check_size
from telemetry.samples import DownReason

_CHUNK = 64 * 1024
_KILL_S = 1.0


class Command:
    """A program and its arguments; no shell. What it starts itself ends with it.

    A program that waits for a broken device cannot be killed: then none is started until it is gone, so that they do
    not pile up.
    """

    def __init__(self, command: tuple[str, ...], body_bytes_max: int) -> None:
        self._command, self._body_bytes_max = command, body_bytes_max
        self._last: asyncio.subprocess.Process | None = None

    async def read(self) -> bytes:
        """What it prints. NoAnswer with the reason; a deadline around it ends the program."""
        program, *arguments = self._command
        if self._last is not None and self._last.returncode is None:
            raise NoAnswer(DownReason.TIMEOUT, f"{program} of an earlier collection cannot be ended")
        try:
            process = self._last = await _started(program, *arguments)
        except OSError as error:
            raise NoAnswer(DownReason.REFUSED, f"{program}: {error.strerror}") from error
        assert process.stdout is not None
        try:
            body = bytearray()
            while chunk := await process.stdout.read(_CHUNK):
                body += chunk
                check_size(len(body), self._body_bytes_max)
            if code := await process.wait():
                raise NoAnswer(DownReason.CLOSED, f"{program} exited with {code}")
        finally:
            await _end(process)
        return bytes(body)


async def _started(*command: str) -> asyncio.subprocess.Process:
    """In a session of its own. One that has started is ended where nobody waits for it any more."""
    pipe, nothing = asyncio.subprocess.PIPE, asyncio.subprocess.DEVNULL
    starting = asyncio.create_task(
        asyncio.create_subprocess_exec(*command, stdin=nothing, stdout=pipe, stderr=nothing, start_new_session=True)
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        with contextlib.suppress(OSError):
            await _end(await starting)
        raise


async def _end(process: asyncio.subprocess.Process) -> None:
    """With all of its session, which is named as it is."""
    if process.returncode is not None:
        return
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_KILL_S):
            await process.wait()
