"""No secret of the settings is shown anywhere: planted ones are looked for in all that the program gives out."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from bus.base import Bus, Message, Record
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from fabricscope.api.access.guard import OPEN
from fabricscope.settings import MetricsPorts
from telemetry import topics
from telemetry.codec.records import encode_record
from tests.servers.process import free_port
from tests.unit.fabricscope.api.traffic import incident
from tests.waiting import DEADLINE_S

CANARY = re.compile(rb"canary[a-z]+7f3a")
# What each stage logs once its peer has refused it; the words of its lines, not of this test.
COMPLAINTS = {
    "ingest": ("discovery failed", "job list not collected"),
    "alerts": ("receiver does not answer",),
    "export": ("receiver does not accept samples",),
}
PAGES = (
    *("/", "/openapi.json", "/metrics", "/-/ready", "/-/healthy", "/api/v1/incidents", "/api/v1/incidents/i1"),
    *("/api/v1/findings", "/api/v1/targets", "/api/v1/topology", "/api/v1/ledger", "/api/v1/trust"),
    *("/api/v1/targets/top", "/api/v1/starvation", "/api/v1/trends", "/api/v1/changes", "/api/v1/incidents/none"),
    *("/runbooks/wear", "/docs/", "/api/v1/incidents/i1/members", "/api/v1/refused", "/api/v1/records"),
    *("/api/v1/unrecorded",),
)


@dataclass(frozen=True)
class Running:
    """``fabricscope run`` with canaries in its settings, and nobody who answers any stage."""

    folder: Path
    settings: Path
    port: int
    metrics: tuple[int, ...]

    @property
    def token(self) -> str:
        return (self.folder / "bearer").read_text()

    def logs(self) -> bytes:
        return b"".join(path.read_bytes() for path in sorted((self.folder / "data" / "logs").glob("*.log")))

    def wait_for(self, stage: str, words: str) -> None:
        path = self.folder / "data" / "logs" / f"{stage}.log"
        deadline = time.monotonic() + DEADLINE_S
        while not (path.exists() and words in path.read_text()):
            assert time.monotonic() < deadline, f"no {words!r} in {path.read_text() if path.exists() else path}"
            time.sleep(0.05)


def settings(folder: Path, port: int, metrics: dict[str, int]) -> dict[str, object]:
    """A canary wherever an operator may put a secret: in files as is asked for, and in addresses."""

    def file(name: str) -> str:
        path = folder / name
        path.write_text(f"canary{name}7f3a")
        return str(path)

    def url(name: str, path: str = "") -> str:
        return f"http://canary{name}user7f3a:canary{name}7f3a@127.0.0.1:1{path}"

    (folder / "url").write_text(url("urlfile"))
    return {
        "global": {"cluster": "pod1", "data_dir": str(folder / "data"), "metrics_ports": metrics},
        "api": {"port": port, "bearer_token_file": file("bearer")},
        "scrape_configs": [
            {
                "job_name": "basic",
                "source": "node_exporter",
                "scrape_interval": "1s",
                "basic_auth": {"username": "carol", "password_file": file("basic")},
                "static_configs": [{"targets": ["127.0.0.1:1"]}],
                "http_sd_configs": [{"url": url("discovery", "/sd"), "refresh_interval": "1s"}],
            },
            {
                "job_name": "bearer",
                "source": "dcgm",
                "authorization": {"credentials_file": file("credentials")},
                "static_configs": [{"targets": ["127.0.0.1:1"]}],
            },
        ],
        "gnmi_configs": [
            {
                "job_name": "leafs",
                "source": "openconfig",
                "targets": [{"address": "127.0.0.1:1", "device": "leaf1"}],
                "username_file": file("gnmiuser"),
                "password_file": file("gnmi"),
            }
        ],
        "job_sources": [{"url": url("slurm", "/jobs"), "token_file": file("slurmtoken"), "interval_s": 1.0}],
        "alerting": {
            "receivers": [
                {"name": "hook", "type": "webhook", "url": url("webhook")},
                {
                    "name": "bearer",
                    "type": "webhook",
                    "url": "http://127.0.0.1:1",
                    "bearer_token_file": file("hooktoken"),
                },
                {"name": "am", "type": "alertmanager", "url_file": str(folder / "url")},
            ]
        },
        "remote_write": [
            {"name": "userinfo", "folder": str(folder / "data" / "write"), "url": url("write", "/api/v1/write")},
            {
                "url": "http://127.0.0.1:1/api/v1/write",
                "basic_auth": {"username": "carol", "password_file": file("writepassword")},
                "headers": {"X-Key": "canaryheader7f3a"},
            },
        ],
        "recording": {"path": str(folder / "recording")},
    }


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("secrets")
    metrics = {name: free_port() for name in MetricsPorts.model_fields}
    one = Running(folder, folder / "fabricscope.yaml", free_port(), tuple(metrics.values()))
    one.settings.write_text(yaml.safe_dump(settings(folder, one.port, metrics)))
    with (folder / "run.log").open("wb") as log:
        command = [sys.executable, "-m", "fabricscope", "run", "--config", str(one.settings)]
        process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
    try:
        for stage in ("ingest", "analytics", "alerts", "export", "recorder", "api"):
            one.wait_for(stage, "stage runs")
        yield one
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(DEADLINE_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@pytest.fixture
async def its_bus(running: Running) -> AsyncIterator[Bus]:
    """The bus of the running stages, from another process."""
    bus = EmbeddedBus(EmbeddedConfig(path=running.folder / "data" / "bus.sqlite"))
    await bus.start()
    yield bus
    await bus.stop()


def found(text: bytes | str) -> set[bytes]:
    return set(CANARY.findall(text if isinstance(text, bytes) else text.encode()))


def get(url: str, token: str = "") -> bytes:
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=DEADLINE_S) as answer:
            return bytes(answer.read())
    except urllib.error.HTTPError as error:
        return error.read()


async def test_the_logs_of_stages_whose_peers_refuse_them(running: Running, its_bus: Bus) -> None:
    await its_bus.publish(topics.INCIDENTS, [Message(b"i1", encode_record(incident()))])
    await its_bus.publish(topics.INCIDENTS, [Message(b"i2", b"{canary, not a record")])
    for stage, complaints in COMPLAINTS.items():
        for words in complaints:
            running.wait_for(stage, words)
    get(f"http://127.0.0.1:{running.port}/api/v1/incidents", "canaryguess7f3a")
    running.wait_for("api", "bad token")
    assert found(running.logs()) == set()
    assert found((running.folder / "run.log").read_bytes()) == set()


async def test_dead_letters_and_all_other_records(running: Running, its_bus: Bus) -> None:
    await its_bus.publish(topics.INCIDENTS, [Message(b"i3", b"{not a record")])
    reader = its_bus.consume([topics.DEADLETTER], {})
    letters: list[Record] = []
    deadline = time.monotonic() + DEADLINE_S
    while not letters:
        assert time.monotonic() < deadline
        letters = await reader.poll(wait_s=0.5)
    await reader.stop()
    for letter in letters:
        assert found(repr(letter)) == set()
    for path in (running.folder / "data").rglob("*"):
        if path.is_file():
            assert (path.name, found(path.read_bytes())) == (path.name, set())


@pytest.mark.parametrize("path", PAGES)
def test_the_api(running: Running, path: str) -> None:
    body = get(f"http://127.0.0.1:{running.port}{path}", running.token)
    assert body
    assert found(body) == set()
    without_token = get(f"http://127.0.0.1:{running.port}{path}")
    assert found(without_token) == set()
    if path not in OPEN:
        assert json.loads(without_token)["error"] == "unauthorized"


def test_the_metrics_of_every_stage(running: Running) -> None:
    for port in running.metrics:
        body = get(f"http://127.0.0.1:{port}/metrics")
        assert b"process_cpu_seconds_total" in body
        assert found(body) == set()


@pytest.mark.parametrize(
    "command",
    [
        ("check", "config", "FILE"),
        ("config", "print"),
        ("token", "list", "--config", "FILE"),
        ("change", "add", "drain", "device:node1", "--config", "FILE"),
        ("collect", "--for", "3s", "--config", "FILE"),
    ],
    ids=" ".join,
)
def test_what_commands_print(running: Running, command: tuple[str, ...]) -> None:
    arguments = [str(running.settings) if part == "FILE" else part for part in command]
    answer = subprocess.run([sys.executable, "-m", "fabricscope", *arguments], capture_output=True, timeout=DEADLINE_S)
    assert answer.stdout + answer.stderr
    assert b"Traceback" not in answer.stderr
    assert found(answer.stdout + answer.stderr) == set()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("remote_write", [{"url": "http://canarya7f3a:canaryb7f3a@h/", "timeout_s": -1}]),
        ("remote_write", "http://canarya7f3a:canaryb7f3a@h/"),
        ("api", "http://canarya7f3a:canaryb7f3a@h/"),
        ("scrape_configs", [{"job_name": "a", "source": "dcgm", "http_sd_configs": [{"url": "ftp://canarya7f3a@h"}]}]),
        ("scrape_configs", [{"job_name": "a", "source": "dcgm", "static_configs": [{"targets": ["canarya7f3a@h:1"]}]}]),
        ("alerting", {"receivers": [{"type": "webhook", "url": "http://canarya7f3a@h", "url_file": "x"}]}),
        ("job_sources", [{"url": "http://canarya7f3a:canaryb7f3a@h/ x"}]),
    ],
)
def test_what_is_wrong_with_a_secret_in_it_is_not_repeated(tmp_path: Path, key: str, value: object) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(yaml.safe_dump({key: value}))
    command = [sys.executable, "-m", "fabricscope", "check", "config", str(path)]
    answer = subprocess.run(command, capture_output=True, timeout=DEADLINE_S)
    assert answer.returncode == 1
    assert found(answer.stdout + answer.stderr) == set()
