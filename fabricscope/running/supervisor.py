"""Child processes of ``fabricscope run``: started, restarted when they die, stopped in parallel."""

import asyncio
import contextlib
import os
import random
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import structlog

from common.retry import backoff_s
from common.tasks import cancel
from fabricscope.exit_status import FAILED, SUPERSEDED
from fabricscope.running.stopping import SUPERVISED

log = structlog.get_logger()

STOP_S = 28.0  # a stage stops within 25 s, or ends its waiting itself
RESTART_WAIT_FIRST_S, RESTART_WAIT_MAX_S = 0.5, 30.0
STABLE_AFTER_S = 30.0


def restart_wait_s(failures: int, chance: float) -> float:
    """Seconds until a child that died so many times in a row is started again; chance: 0..1, see ``backoff_s``."""
    return backoff_s(failures, first_s=RESTART_WAIT_FIRST_S, most_s=RESTART_WAIT_MAX_S, chance=chance)


def last_line(log_path: Path) -> str:
    """What a process that failed said last, without the name of the program."""
    lines = log_path.read_text(errors="replace").split("\n")
    return next((line.removeprefix("fabricscope: ") for line in reversed(lines) if line.strip()), "it said nothing")


class Child:
    """One ``fabricscope`` command, kept alive until ``stop`` or until a newer process elsewhere does its work.

    Its output goes to a log file. What cannot start at all is not tried again: see ``refusal``.
    """

    def __init__(self, name: str, arguments: Sequence[str], log_path: Path) -> None:
        self.name = name
        self.log_path = log_path
        self.restarts = 0
        self._arguments = arguments
        self._process: asyncio.subprocess.Process | None = None
        self._task: asyncio.Task[None] | None = None
        self._refusal = asyncio.Event()

    async def refusal(self) -> str:
        """Returns once its first process ended by itself for something that the operator can repair, with its words."""
        await self._refusal.wait()
        return f"{self.name}: {last_line(self.log_path)}"

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process and self._process.returncode is None else None

    @property
    def ended(self) -> bool:
        """Whether it will not be started again."""
        return self._task is not None and self._task.done()

    async def start(self) -> None:
        self._task = asyncio.create_task(self._keep_alive())

    async def stop(self) -> None:
        """SIGTERM, and SIGKILL when that was not enough."""
        if self._task is None:
            return
        await cancel([self._task])
        self._task = None
        process = self._process
        if process is None or process.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGTERM)
            try:
                await asyncio.wait_for(process.wait(), STOP_S)
            except TimeoutError:
                process.kill()
                await process.wait()

    async def _keep_alive(self) -> None:
        loop = asyncio.get_running_loop()
        failures = 0
        while True:
            started_s = loop.time()
            code = await self._run_once()
            if code == SUPERSEDED:  # started again, it would replace the newer one, which would come back in its turn
                log.error("stage replaced by a newer process", stage=self.name, log=str(self.log_path))
                return
            if code == FAILED and not self.restarts and loop.time() - started_s < STABLE_AFTER_S:
                self._refusal.set()
                return
            failures = 1 if loop.time() - started_s > STABLE_AFTER_S else failures + 1
            wait_s = restart_wait_s(failures, random.random())
            log.error(
                "stage ended", stage=self.name, exit_code=code, restart_in_s=round(wait_s, 1), log=str(self.log_path)
            )
            await asyncio.sleep(wait_s)
            self.restarts += 1

    async def _run_once(self) -> int:
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        with self.log_path.open("ab") as output:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                "fabricscope",
                *self._arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, SUPERVISED: "1"},  # it stops by itself when this process is gone
                start_new_session=True,  # Ctrl-C reaches the parent alone, which stops the children in order
            )
        return await self._process.wait()
