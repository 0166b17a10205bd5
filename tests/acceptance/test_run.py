"""``make run``: the whole program on a simulated fabric, from start to the first incident and to a clean stop."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

ADDRESS_OFFSET = 41


@dataclass
class Demo:
    """``fabricscope run`` with ports and addresses that another one on this machine does not use."""

    folder: Path
    port: int
    process: subprocess.Popen[str]
    lines: list[str] = field(default_factory=list)

    def read(self) -> None:
        assert self.process.stdout is not None
        self.lines.extend(self.process.stdout)

    def panel(self) -> str:
        """The panel of the first incident; AssertionError when there is none."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline and self.process.poll() is None:
            shown = "".join(self.lines)
            if "╯" in shown:
                return shown[shown.index("╭") : shown.index("╯")]
            time.sleep(0.05)
        raise AssertionError(f"no incident; its output:\n{''.join(self.lines)}")

    def processes(self) -> set[int]:
        """Itself and its children: all are started with a path in its folder."""
        found = set()
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if str(self.folder).encode() in (entry / "cmdline").read_bytes():
                    found.add(int(entry.name))
            except OSError:  # it has just ended
                continue
        return found

    def wait_for(self, has: Callable[[dict[str, Any]], bool]) -> None:
        """Which symptom of one fault is the strongest in its first seconds is chance, and whether its job is known."""
        deadline = time.monotonic() + DEADLINE_S
        while not any(map(has, self.incidents())):
            assert time.monotonic() < deadline, self.incidents()
            time.sleep(0.1)

    def incidents(self) -> list[dict[str, Any]]:
        """From the API: it reads the bus itself, so it may have an incident a moment after the terminal."""
        deadline = time.monotonic() + DEADLINE_S
        while not (found := ask(f"http://127.0.0.1:{self.port}/api/v1/incidents")):
            assert time.monotonic() < deadline, "the API has no incident"
            time.sleep(0.1)
        return list(found)


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Demo]:
    port = free_port()
    command = [sys.executable, "-m", "fabricscope", "run", "--fault", "slow-receiver@5s", "--port", str(port)]
    command += ["--data-dir", str(tmp_path / "demo"), "--address-offset", str(ADDRESS_OFFSET)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "240"})
    running = Demo(tmp_path / "demo", port, process)
    reader = threading.Thread(target=running.read)
    reader.start()
    yield running
    for left in running.processes():
        os.kill(left, signal.SIGKILL)
    process.wait()
    reader.join()


def test_from_start_to_the_first_incident_and_to_a_clean_stop(demo):
    panel = demo.panel()
    assert f"http://127.0.0.1:{demo.port}" in "".join(demo.lines)
    (truth,) = ask(f"http://127.4.{ADDRESS_OFFSET}.1:6821/truth")["truth"]
    assert truth["fault"] == "slow-receiver"
    rows = dict(re.findall(r"^│ (\S.*?) {2,}(\S.*?) *│$", panel, re.MULTILINE))
    assert rows["Root"] == truth["root"]
    assert "pfc_pause" in rows["Evidence"]  # at the port or the NIC behind it: whichever was read first
    assert "1 link, " in rows["Blast radius"]
    assert rows["First action"]
    demo.wait_for(lambda incident: incident["blast"]["jobs"]["count"] == 1)
    demo.wait_for(lambda incident: any("fabric_port_pfc_pause" in one["series"] for one in incident["evidence"]))
    (incident,) = demo.incidents()
    assert "{kind}:{name}".format(**incident["root"]) == truth["root"]

    assert len(demo.processes()) == 5, "the program, the simulator, ingest, analytics and api"
    demo.process.send_signal(signal.SIGINT)
    assert demo.process.wait(DEADLINE_S) == 0
    assert demo.processes() == set()


def run_in_vain(folder: Path, *options: str) -> str:
    """What it says where the person looks, when it cannot run and stops by itself."""
    command = [sys.executable, "-m", "fabricscope", "run", "--data-dir", str(folder), *options]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert ended.returncode == 1
    return " ".join(ended.stderr.split())


def test_a_fault_that_there_is_not_is_said_before_anything_starts(tmp_path: Path) -> None:
    said = run_in_vain(tmp_path / "demo", "--fault", "nonsense@1s")
    assert "fabricscope: fault 'nonsense@1s': fault: no fault 'nonsense', expected one of slow-receiver, " in said
    assert not (tmp_path / "demo").exists()


def test_a_port_that_is_in_use_is_said_where_the_person_looks(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = run_in_vain(tmp_path / "demo", "--port", port, "--address-offset", str(ADDRESS_OFFSET))
    assert said.endswith("address already in use")
    assert "fabricscope: api: api.host, api.port: " in said


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
        return json.load(answer)
