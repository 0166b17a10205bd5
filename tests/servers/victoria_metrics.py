"""Fixture: a real VictoriaMetrics (Debian package victoria-metrics), which takes remote write 1.0."""

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.process import free_port, wait_ready
from tests.waiting import DEADLINE_S


class VictoriaMetrics:
    """One process that keeps its data in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._port = folder, free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def write_url(self) -> str:
        return f"{self.url}/api/v1/write"

    def start(self) -> None:
        program = shutil.which("victoria-metrics")
        if program is None:
            pytest.fail("VictoriaMetrics is missing: install the Debian package victoria-metrics")
        self._folder.mkdir(parents=True)
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    program,
                    f"-storageDataPath={self._folder / 'data'}",
                    f"-httpListenAddr=127.0.0.1:{self._port}",
                    "-memory.allowedBytes=256MB",
                ],
                stdout=output,
                stderr=output,
            )
        wait_ready(f"{self.url}/health", self._process, log)

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def export(self, selector: str) -> list[dict[str, Any]]:
        """Series with all their raw samples: ``{"metric": {…}, "values": […], "timestamps": [milliseconds, …]}``."""
        urllib.request.urlopen(f"{self.url}/internal/force_flush", timeout=DEADLINE_S).close()
        query = urllib.parse.urlencode({"match[]": selector})
        with urllib.request.urlopen(f"{self.url}/api/v1/export?{query}", timeout=DEADLINE_S) as answer:
            return [json.loads(line) for line in answer.read().splitlines()]


@pytest.fixture
def victoria_metrics(tmp_path: Path) -> Iterator[VictoriaMetrics]:
    server = VictoriaMetrics(tmp_path / "victoria-metrics")
    server.start()
    yield server
    server.kill()
