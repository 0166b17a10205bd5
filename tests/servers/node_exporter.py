"""Fixture: a real node_exporter (Debian package prometheus-node-exporter)."""

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator

import pytest

_START_S = 20.0


@pytest.fixture(scope="session")
def node_exporter() -> Iterator[str]:
    """host:port of a running node_exporter."""
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        pytest.fail("node_exporter is missing: install the Debian package prometheus-node-exporter")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [program, f"--web.listen-address=127.0.0.1:{port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _wait_until_it_listens(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "node_exporter ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    pytest.fail(f"node_exporter does not listen after {_START_S:g} s")
