"""What the servers of the tests share: free ports, a process on one of them, and waiting until it answers."""

import contextlib
import secrets
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from pathlib import Path

from tests.waiting import DEADLINE_S

_PORTS = range(10_000, 32_000)


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on, and that the kernel gives to no connection before it is used: below
    those of ``ip_local_port_range``, which begins at 32768."""
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


def wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Polls until ``url`` answers 200."""
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    process.kill()
    raise RuntimeError(f"{url} is not ready:\n{log.read_text()[-2000:]}")


class HttpServer:
    """One process that serves HTTP on a free port of the loopback and logs to ``<name>.log`` in its folder.

    After ``stop`` or ``kill`` it may be launched again, with the same data and port.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._log = folder / f"{name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def launch(self, command: Sequence[str]) -> None:
        """Returns when it is ready; RuntimeError with the log's end when it does not come up."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(command, stdout=log, stderr=log)
        self.wait_ready()

    @property
    def pid(self) -> int:
        """While it runs."""
        assert self._process is not None, "start it first"
        return self._process.pid

    def wait_ready(self) -> None:
        """Polls until it answers."""
        assert self._process is not None, "start it first"
        wait_ready(f"{self.url}/-/ready", self._process, self._log)

    def stop(self) -> None:
        """SIGTERM; idempotent."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(timeout=DEADLINE_S)
            self._process = None

    def kill(self) -> None:
        """kill -9."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
