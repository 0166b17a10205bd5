"""A server outside as a child process, and the file to which it writes what it has seen, one JSON a line."""

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

_START_S_MAX = 60.0


class Journal:
    """Each line is on its way to the disk when ``write`` returns; the first one says on which ports the server is."""

    def __init__(self, path: Path, ports: list[int]) -> None:
        self._file = path.open("a", buffering=1)
        self._lock = threading.Lock()
        self.write({"ports": ports})

    def write(self, line: object) -> None:
        with self._lock:
            self._file.write(json.dumps(line) + "\n")


class OutsideServer:
    """``python -m tests.acceptance.crash.outside.NAME``, from ``start`` to ``stop``."""

    def __init__(self, name: str, folder: Path, *arguments: str) -> None:
        self._path = folder / f"{name}.jsonl"
        self._command = [sys.executable, "-m", f"tests.acceptance.crash.outside.{name}", str(self._path), *arguments]
        self._process: subprocess.Popen[bytes] | None = None
        self.ports: list[int] = []

    def start(self) -> None:
        """Returns when it listens."""
        self._process = subprocess.Popen(self._command, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + _START_S_MAX
        while not (lines := self._lines()):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"did not start: {' '.join(self._command)}")
            time.sleep(0.02)
        self.ports = lines[0]["ports"]

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def lines(self) -> list[Any]:
        """What it has written so far, without the ports."""
        return self._lines()[1:]

    def _lines(self) -> list[Any]:
        if not self._path.exists():
            return []
        whole, _, _ = self._path.read_text().rpartition("\n")
        return [json.loads(line) for line in whole.splitlines()]
