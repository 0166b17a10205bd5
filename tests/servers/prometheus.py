"""Fixture: a real Prometheus with its remote-write receiver on, on a free port of the loopback."""

import json
import shutil
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.servers.process import HttpServer
from tests.waiting import DEADLINE_S


class Prometheus(HttpServer):
    """One Prometheus process; after ``stop`` or ``kill``, ``start`` goes on with the same data and port.

    out_of_order: how far behind the newest sample one may come ('' refuses it, else a duration such as ``10m``).
    config: more of its configuration file, as YAML text (``scrape_configs: …``). program: '' for the one on the PATH.
    """

    def __init__(self, folder: Path, out_of_order: str = "", config: str = "", program: str = "") -> None:
        super().__init__("prometheus", folder)
        self._program = program
        self._config = config
        if out_of_order:
            self._config += f"\nstorage: {{tsdb: {{out_of_order_time_window: {out_of_order}}}}}\n"

    @property
    def write_url(self) -> str:
        """Where remote write goes."""
        return f"{self.url}/api/v1/write"

    def start(self) -> None:
        """Returns when it is ready; RuntimeError with the log's end when it does not come up."""
        program = self._program or shutil.which("prometheus")
        if program is None:
            raise RuntimeError("no Prometheus: apt-get install prometheus")
        self.folder.mkdir(parents=True, exist_ok=True)
        config = self.folder / "prometheus.yml"
        config.write_text(self._config or "global: {}\n")
        self.launch(
            [
                program,
                f"--config.file={config}",
                f"--storage.tsdb.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.port}",
                "--web.enable-remote-write-receiver",
            ]
        )

    def query(self, expression: str, at_s: float | None = None) -> list[dict[str, Any]]:
        """The instant query's result: ``[{"metric": {…}, "value": [seconds, "text"]}]``."""
        arguments = {"query": expression} | ({} if at_s is None else {"time": f"{at_s:.3f}"})
        return self._ask("query", arguments)

    def query_range(self, expression: str, start_s: float, end_s: float, step_s: float) -> list[dict[str, Any]]:
        """The range query's result: ``[{"metric": {…}, "values": [[seconds, "text"], …]}]``."""
        times = {"start": f"{start_s:.3f}", "end": f"{end_s:.3f}", "step": f"{step_s:.3f}"}
        return self._ask("query_range", {"query": expression} | times)

    def label_values(self, selector: str, label: str) -> list[str]:
        """The values of a label on the series of a selector."""
        return list(self._data(f"label/{label}/values", {"match[]": selector}))

    def _ask(self, what: str, arguments: dict[str, str]) -> list[dict[str, Any]]:
        return list(self._data(what, arguments)["result"])

    def _data(self, what: str, arguments: dict[str, str]) -> Any:
        url = f"{self.url}/api/v1/{what}?{urllib.parse.urlencode(arguments)}"
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            return json.load(answer)["data"]


@pytest.fixture
def prometheus(tmp_path: Path) -> Iterator[Prometheus]:
    """A fresh Prometheus that takes remote write and scrapes nothing."""
    server = Prometheus(tmp_path / "prometheus")
    server.start()
    yield server
    server.kill()
