"""Fixtures: a real node_exporter (Debian package prometheus-node-exporter), in the clear and behind TLS."""

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.servers.certificates import Certificates
from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

TlsStarter = Callable[..., str]


@pytest.fixture(scope="session")
def node_exporter() -> Iterator[str]:
    """host:port of a running node_exporter."""
    with _running() as address:
        yield address


@pytest.fixture
def tls_node_exporter(certificates: Certificates, tmp_path: Path) -> Iterator[TlsStarter]:
    """Starts one that speaks TLS alone, and says its host:port; it stops with the test."""
    with ExitStack() as stack:

        def start(*, client_certificate: bool = False, name: str = "server") -> str:
            settings = {"cert_file": certificates.certificate(name), "key_file": certificates.key(name)}
            if client_certificate:
                settings["client_ca_file"] = certificates.authority
            kind = "RequireAndVerifyClientCert" if client_certificate else "NoClientCert"
            lines = [f"  {name}: {path}\n" for name, path in settings.items()]
            (tmp_path / "web.yml").write_text(f"tls_server_config:\n  client_auth_type: {kind}\n{''.join(lines)}")
            return stack.enter_context(_running(f"--web.config.file={tmp_path / 'web.yml'}"))

        yield start


@contextmanager
def _running(*options: str) -> Iterator[str]:
    program = shutil.which("prometheus-node-exporter") or shutil.which("node_exporter")
    if program is None:
        pytest.fail("node_exporter is missing: install the Debian package prometheus-node-exporter")
    port = free_port()
    process = subprocess.Popen(
        [program, f"--web.listen-address=127.0.0.1:{port}", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_until_it_listens(process, port)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _wait_until_it_listens(process: "subprocess.Popen[bytes]", port: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while time.monotonic() < deadline:
        assert process.poll() is None, "node_exporter ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
        except OSError:
            time.sleep(0.02)
        else:
            return
    pytest.fail(f"node_exporter does not listen after {DEADLINE_S:g} s")
