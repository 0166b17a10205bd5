"""A stage as a process of its own, as its supervisor or an operator starts it."""

import os
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import yaml

from fabricscope.running.stopping import SUPERVISED
from tests.waiting import DEADLINE_S

Page = tuple[int, str]


class StageProcess:
    """``fabricscope <stage>`` with a settings file that a test changes."""

    def __init__(self, folder: Path, stage: str, port: int) -> None:
        self.settings, self.log = folder / "fabricscope.yaml", folder / f"{stage}.log"
        self._folder, self._stage, self._port = folder, stage, port
        self._process: subprocess.Popen[bytes] | None = None

    def write(self, document: dict[str, Any]) -> None:
        shared = {"data_dir": str(self._folder / "data"), "metrics_ports": {self._stage: self._port}}
        self.settings.write_text(yaml.safe_dump({"global": shared, **document}))

    def start(self) -> None:
        environment = {key: value for key, value in os.environ.items() if key != SUPERVISED}
        command = [sys.executable, "-m", "fabricscope", self._stage, "--config", str(self.settings)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def send(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)

    @property
    def exit_status(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def logged(self, words: str) -> int:
        return self.log.read_text().count(words)

    def get(self, path: str) -> Page | None:
        """Status and body of its page; None while it does not listen."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self._port}{path}", timeout=DEADLINE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as refused:
            return refused.code, refused.read().decode()
        except OSError:
            return None

    def metric(self, name: str) -> float | None:
        page = self.get("/metrics")
        lines = page[1].splitlines() if page is not None else []
        return next((float(line.split()[1]) for line in lines if line.startswith(f"{name} ")), None)
