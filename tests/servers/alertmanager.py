"""Fixture: a real Alertmanager on a free port of the loopback, with its data in a temporary folder."""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.process import HttpServer
from tests.waiting import DEADLINE_S

_NAMES = ("prometheus-alertmanager", "alertmanager")  # Debian's name, then upstream's
_CONFIG = """\
route:
  receiver: {receiver}
  group_by: [incident_id]
  group_wait: 0s
  group_interval: 1s
  repeat_interval: 4h
receivers:
  - name: nobody
"""
_WEBHOOK = """\
  - name: webhook
    webhook_configs:
      - url: {url}
        send_resolved: true
"""


class Alertmanager(HttpServer):
    """One Alertmanager process; after ``stop`` or ``kill``, ``start`` goes on with the same data and port.

    webhook_url: where it sends its own notifications, '' for nowhere.
    """

    def __init__(self, folder: Path, webhook_url: str = "") -> None:
        super().__init__("alertmanager", folder)
        self._webhook_url = webhook_url

    def start(self) -> None:
        """Returns when it is ready; RuntimeError with the log's end when it does not come up."""
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "alertmanager.yml"
        text = _CONFIG.format(receiver="webhook" if self._webhook_url else "nobody")
        config.write_text(text + (_WEBHOOK.format(url=self._webhook_url) if self._webhook_url else ""))
        self.launch(
            [
                _program(),
                f"--config.file={config}",
                f"--storage.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--cluster.listen-address=",
            ]
        )

    def alerts(self, *, active: bool = True) -> list[dict[str, Any]]:
        """The alerts that it shows now, as its v2 API answers; resolved ones are not among them."""
        query = f"active={str(active).lower()}&silenced=true&inhibited=true"
        with urllib.request.urlopen(f"{self.url}/api/v2/alerts?{query}", timeout=DEADLINE_S) as answer:
            found: list[dict[str, Any]] = json.load(answer)
        return found

    def amtool(self, *arguments: str) -> str:
        """What the independent client prints."""
        command = ["amtool", f"--alertmanager.url={self.url}", *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True, timeout=DEADLINE_S).stdout


def _program() -> str:
    for name in _NAMES:
        if path := shutil.which(name):
            return path
    raise RuntimeError("no Alertmanager: apt-get install prometheus-alertmanager")


@pytest.fixture
def alertmanager(tmp_path: Path) -> Iterator[Alertmanager]:
    """A fresh Alertmanager that groups by incident and notifies nobody."""
    server = Alertmanager(tmp_path / "alertmanager")
    server.start()
    yield server
    server.kill()
