"""Clients that hold connections open do not shut the API: real sockets against a real process."""

import contextlib
import resource
import socket
import ssl
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.servers.certificates import Certificates
from tests.servers.process import free_port, wait_ready
from tests.waiting import DEADLINE_S

HALF_OPEN, STREAMS = 1100, 1050
STREAMS_OF_ONE = 16
PROBES = ("/-/healthy", "/-/ready")
OPEN_FILES = 4096
HALF_A_REQUEST = b"GET /api/v1/incidents HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: "


@pytest.fixture(autouse=True)
def _enough_open_files() -> Iterator[None]:
    """This process is the attacker, and needs a file for each connection."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, OPEN_FILES), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


Start = Callable[..., int]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts ``fabricscope api`` as a system does that allows 1,024 open files; the port."""
    running: list[subprocess.Popen[bytes]] = []

    def start_api(settings: str = "") -> int:
        port = free_port()
        file, log = tmp_path / "fabricscope.yaml", tmp_path / "api.log"
        file.write_text(f"global: {{data_dir: {tmp_path}}}\napi:\n  port: {port}\n{settings}")
        with log.open("wb") as output:
            command = [sys.executable, "-m", "fabricscope", "api", "--config", str(file)]
            command = ["sh", "-c", 'ulimit -S -n 1024; exec "$0" "$@"', *command]
            process = subprocess.Popen(command, stdout=output, stderr=output)
        running.append(process)
        if "tls_cert_file" in settings:
            deadline = time.monotonic() + 60
            while "stage runs" not in log.read_text() and time.monotonic() < deadline:
                time.sleep(0.02)
        else:
            wait_ready(f"http://127.0.0.1:{port}/-/ready", process, log)
        return port

    yield start_api
    for process in running:
        process.terminate()
        process.wait(DEADLINE_S)


def connect(port: int, sent: bytes) -> socket.socket:
    opened = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
    with contextlib.suppress(OSError):  # it may have been closed in favour of another one
        opened.sendall(sent)
    return opened


@contextlib.contextmanager
def connections(port: int, number: int, sent: bytes) -> Iterator[list[socket.socket]]:
    opened = []
    try:
        for _ in range(number):
            opened.append(connect(port, sent))
        yield opened
    finally:
        for one in opened:
            one.close()


def probe(port: int) -> list[int]:
    """What a supervisor is answered now."""
    found = []
    for path in PROBES:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=DEADLINE_S) as answer:
            found.append(answer.status)
    return found


def closed(port: int) -> dict[str, float]:
    """Connections that the API closed, by reason."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=DEADLINE_S) as answer:
        families = text_string_to_metric_families(answer.read().decode())
    return {
        sample.labels["reason"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "fabricscope_api_connections_closed_total"
    }


def is_open(one: socket.socket) -> bool:
    """Whether the other side still holds the connection; what it has sent is thrown away."""
    one.setblocking(False)
    try:
        while one.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False


def wait_closed(opened: list[socket.socket]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while any(map(is_open, opened)):
        assert time.monotonic() < deadline, f"{sum(map(is_open, opened))} connections are open"
        time.sleep(0.05)


def read_status(one: socket.socket) -> int:
    """The status of the answer; 0 when there is none."""
    one.settimeout(60)
    try:
        head = one.recv(12)
    except OSError:
        return 0
    return int(head[9:12]) if head.startswith(b"HTTP/1.1 ") else 0


def test_half_open_requests_leave_room_for_probes_and_are_closed(start: Start) -> None:
    port = start()
    with connections(port, HALF_OPEN, HALF_A_REQUEST) as opened:
        assert probe(port) == [200, 200]
        assert sum(map(is_open, opened)) <= 512
        wait_closed(opened)
        assert probe(port) == [200, 200]
    by_reason = closed(port)
    # On a busy machine the first ones are late before the last ones are there, and need not give way any more.
    assert by_reason.pop("gave_way", 0) + by_reason.pop("headers_late", 0) == HALF_OPEN
    assert by_reason == {}, "a probe found no place"


def test_event_streams_are_as_many_as_one_client_may_have(start: Start) -> None:
    port = start()
    with connections(port, STREAMS, b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as opened:
        assert probe(port) == [200, 200]
        statuses = [read_status(one) for one in opened]
        assert probe(port) == [200, 200]
        assert statuses.count(200) == STREAMS_OF_ONE
        assert set(statuses) <= {200, 429, 0}  # 0: answered, and then closed in favour of another one
        taken = [one for one, status in zip(opened, statuses, strict=True) if status == 200]
        taken[0].close()
        deadline = time.monotonic() + 60
        while (status := read_status(connect(port, b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"))) != 200:
            assert (status, time.monotonic() < deadline) == (429, True)


def test_a_client_has_no_more_streams_under_other_names(start: Start) -> None:
    port = start("  client_streams_max: 2\n")
    with contextlib.ExitStack() as held:
        statuses = []
        for number in range(4):
            head = f"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Forwarded-For: 10.0.0.{number}\r\n\r\n"
            (one,) = held.enter_context(connections(port, 1, head.encode()))
            statuses.append(read_status(one))
        assert statuses == [200, 200, 429, 429]


def test_all_streams_together_have_a_bound(start: Start) -> None:
    port = start("  streams_max: 3\n")
    with connections(port, 5, b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as opened:
        assert sorted(map(read_status, opened)) == [200, 200, 200, 429, 429]


DROPS = {
    "nothing": b"",
    "half a head": HALF_A_REQUEST,
    "the next head": b"GET /-/healthy HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + HALF_A_REQUEST,
    "a body": b"POST /api/v1/changes HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\n",
}


def test_a_drop_now_and_then_keeps_no_connection(start: Start) -> None:
    """At once, as the longest time limit is half a minute."""
    port = start()
    with contextlib.ExitStack() as held:
        slow = {name: held.enter_context(contextlib.closing(connect(port, sent))) for name, sent in DROPS.items()}
        assert read_status(slow["a body"]) == 401  # without having read the body
        deadline = time.monotonic() + DEADLINE_S
        while left := [name for name, one in slow.items() if is_open(one)]:
            assert time.monotonic() < deadline, left
            for name in left:
                with contextlib.suppress(OSError):
                    slow[name].sendall(b"x" if DROPS[name] else b"")
            time.sleep(0.2)


def test_a_client_that_is_busy_is_not_in_the_way_of_one_that_is_not(start: Start) -> None:
    port = start("  connections_max: 64\n  streams_max: 32\n")
    with connections(port, 16, b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n") as streams:
        assert [read_status(one) for one in streams] == [200] * 16
        with connections(port, 200, HALF_A_REQUEST):
            assert probe(port) == [200, 200]
            assert all(map(is_open, streams)), "who is served does not give way"


def test_half_a_handshake_keeps_no_connection(start: Start, certificates: Certificates) -> None:
    cert, key = certificates.certificate("server"), certificates.key("server")
    port = start(f"  tls_cert_file: {cert}\n  tls_key_file: {key}\n")
    knows_us = ssl.create_default_context(cafile=str(certificates.authority))
    with connections(port, HALF_OPEN, b"\x16\x03\x01") as opened:
        url = f"https://127.0.0.1:{port}/-/healthy"
        with urllib.request.urlopen(url, context=knows_us, timeout=DEADLINE_S) as answer:
            assert answer.status == 200
        wait_closed(opened)
