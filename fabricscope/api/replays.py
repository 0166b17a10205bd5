"""Recordings that run again on request: one at a time, each in a process of its own that opens no connection."""

import asyncio
import secrets
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import structlog

from common.errors import BadInput
from common.tasks import cancel
from fabricscope.api.replayed import Replayed, replayed
from fabricscope.api.views.replays import ReplayState
from recordings.manifest import read_manifest

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
KEPT_MAX = 10
LASTS_S_MAX = 3600.0
_ERROR_CHARS = 500
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Replay:
    """One replay. Times in ns since the Unix epoch, by the wall clock; ended_ns 0 while it runs.

    found: empty until it is done. error: why it failed, in words.
    """

    id: str
    recording: str
    state: ReplayState
    started_ns: int
    ended_ns: int = 0
    found: Replayed = field(default_factory=Replayed)
    error: str = ""


class Busy(Exception):
    """A replay runs already."""


class Replays:
    """The newest replays of this process, at most 10. recordings: the folder that has them. out: for their results."""

    def __init__(self, recordings: Path, out: Path, clock: Callable[[], int] = time.time_ns) -> None:
        self._recordings, self._out, self._clock = recordings, out, clock
        self._known: dict[str, Replay] = {}
        self._running: asyncio.Task[None] | None = None

    def all(self) -> list[Replay]:
        """Newest first."""
        return list(reversed(self._known.values()))

    def get(self, identity: str) -> Replay | None:
        return self._known.get(identity)

    def start(self, name: str) -> Replay:
        """Begins it. BadInput when the folder has no recording of this name, Busy while another one runs."""
        if self._running is not None and not self._running.done():
            raise Busy
        recording = (self._recordings / name).resolve()
        if recording.parent != self._recordings.resolve():  # by a link, since a name has no slash
            raise BadInput(f"{name}: not a recording in recordings_dir")
        try:
            read_manifest(recording)
        except BadInput as error:
            raise BadInput(f"{name}: not a recording in recordings_dir") from error
        begun = Replay(secrets.token_hex(8), name, ReplayState.RUNNING, self._clock())
        self._keep(begun)
        self._running = asyncio.create_task(self._run(begun, recording))
        return begun

    async def stop(self) -> None:
        """Ends the one that runs."""
        if self._running is not None:
            await cancel([self._running])

    async def _run(self, begun: Replay, recording: Path) -> None:
        out = self._out / begun.id
        try:
            async with asyncio.timeout(LASTS_S_MAX):
                error = await _replay(recording, out)
            found = Replayed() if error else await asyncio.to_thread(replayed, recording, out)
        except TimeoutError:
            error, found = f"it lasted more than {LASTS_S_MAX:.0f} s", Replayed()
        except (OSError, BadInput) as problem:
            error, found = str(problem), Replayed()
        finally:
            await asyncio.to_thread(shutil.rmtree, out, ignore_errors=True)
        state = ReplayState.FAILED if error else ReplayState.DONE
        log.info("replay ended", id=begun.id, recording=begun.recording, state=state, error=error)
        self._keep(replace(begun, state=state, ended_ns=self._clock(), found=found, error=error))

    def _keep(self, one: Replay) -> None:
        self._known[one.id] = one
        while len(self._known) > KEPT_MAX:
            del self._known[next(iter(self._known))]


async def _replay(recording: Path, out: Path) -> str:
    """'' or why it failed. Ends the process when it is cancelled."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "fabricscope", "replay", str(recording), "--out", str(out), "--output", "json"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        _, said = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode == 0:
        return ""
    return said.decode("utf-8", "replace").strip()[-_ERROR_CHARS:] or f"exit status {process.returncode}"
