"""What the servers of the tests share: free ports, and waiting until a process answers."""

import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

START_S_MAX = 30


def free_port() -> int:
    """A port of 127.0.0.1 that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def wait_ready(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Polls until ``url`` answers 200."""
    deadline = time.monotonic() + START_S_MAX
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(url, timeout=1):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.02)
    process.kill()
    raise RuntimeError(f"{url} is not ready:\n{log.read_text()[-2000:]}")
