"""A server in a process of its own, so that its CPU time is not that of the client."""

import multiprocessing
import os
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class ServerProcess:
    """Runs ``serve(*arguments, ready)`` inside ``with``; ``serve`` sets the event ``ready`` once it listens."""

    def __init__(self, serve: Callable[..., None], *arguments: Any, start_s: float) -> None:
        context = multiprocessing.get_context("spawn")
        self._start_s, self._ready = start_s, context.Event()
        self._process = context.Process(target=serve, args=(*arguments, self._ready), daemon=True)

    @property
    def pid(self) -> int:
        """While it runs."""
        assert self._process.pid is not None, "start it first"
        return self._process.pid

    def __enter__(self) -> Self:
        self._process.start()
        if not self._ready.wait(self._start_s):
            self._process.kill()
            raise RuntimeError(f"{type(self).__name__} did not start in {self._start_s} s")
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._process.kill()
        self._process.join()


def cpu_s(pid: int) -> float:
    """CPU-seconds that a process has used so far, user and system."""
    user, system = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")
