"""A stage in a process of its own, which a test stops with signals, and the engines that it runs on."""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from bus.config import BusConfig, EmbeddedConfig, KafkaConfig
from tests.servers.kafka import KafkaServer

ENGINES = ("embedded", "kafka")
ROOT = Path(__file__).parents[2]


class StageProcess:
    """command: of the process, whose output goes to a log in ``folder``. environment: None for that of this process."""

    def __init__(self, folder: Path, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        folder.mkdir(exist_ok=True)
        self._log, self._command, self._environment = folder / "log", command, environment
        self.process: subprocess.Popen[bytes] | None = None

    def spawn(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, cwd=ROOT, stdout=log, stderr=log, env=self._environment)

    def send(self, number: int) -> None:
        assert self.process is not None
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")


def bus_config(request: pytest.FixtureRequest, tmp_path: Path) -> BusConfig:
    """For a fixture with ``ENGINES`` as its parameters."""
    if request.param == "embedded":
        return BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    broker: KafkaServer = request.getfixturevalue("own_kafka")  # the topics have the names of the product
    return BusConfig(kind="kafka", kafka=KafkaConfig(bootstrap=(broker.address,)))
