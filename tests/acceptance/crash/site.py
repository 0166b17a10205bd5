"""The program, and all around it that is not the program: targets, receivers, a bus, a simulated cluster."""

import json
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.acceptance.crash.evidence.embedded_log import read_embedded_log
from tests.acceptance.crash.evidence.kafka_log import read_kafka_log
from tests.acceptance.crash.evidence.records import RawRecord
from tests.acceptance.crash.outside.journal import OutsideServer
from tests.acceptance.crash.samples import device_of
from tests.acceptance.lab import Engine, Program
from tests.servers.alertmanager import Alertmanager
from tests.servers.kafka import KafkaServer
from tests.servers.process import free_port

STAGES = ("ingest", "analytics", "alerts", "export", "recorder", "api")
RECEIVERS = ("webhook", "alertmanager")  # who is notified: by us, and by a real Alertmanager that we notify
TARGETS = 6
HOSTS, INTERVAL_S = 8, 4
# Longer than a kill keeps samples from the bus. What comes after its tick has closed is dropped as late, and when that
# is depends on how far analytics is behind: a run that was killed and one that was not would rightly differ.
HOLDBACK_S = 60.0
PAGE_INTERVAL = "500ms"
ADDRESS_OFFSET = 3  # of the simulated devices: not those of other runs on this machine
WAIT_S = 240.0


class Site:
    """Everything on loopback and in one folder, from ``with`` to its end.

    stages: those that run. simulated: whether there is a cluster with faults, beside the numbered pages.
    """

    def __init__(self, folder: Path, engine: Engine, stages: tuple[str, ...] = STAGES, *, simulated: bool) -> None:
        self.folder, self.engine = folder, engine
        self.settings_file = folder / "fabricscope.yaml"
        self.pages = OutsideServer("pages", folder, str(TARGETS))
        self.writes = OutsideServer("writes", folder)
        self.notifications = OutsideServer("notifications", folder)
        self.kafka = KafkaServer(folder / "kafka") if engine == "kafka" else None
        self.alertmanager: Alertmanager | None = None
        self.programs = {name: Program(name, [name, "--config", str(self.settings_file)], folder) for name in stages}
        self._api_port = free_port()
        self._cluster_file = folder / "cluster.yaml"
        cluster = f"simulate --hosts {HOSTS} --interval {INTERVAL_S}s --speed 1 --seed 1"
        places = ["--address-offset", str(ADDRESS_OFFSET), "--config-out", str(self._cluster_file)]
        self._simulator = Program("simulator", [*cluster.split(), *places], folder) if simulated else None

    @property
    def is_simulated(self) -> bool:
        return self._simulator is not None

    def __enter__(self) -> "Site":
        try:
            self._start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for program in self.programs.values():
            program.kill()
        if self._simulator is not None:
            self._simulator.stop()
        if self.alertmanager is not None:
            self.alertmanager.kill()
        for server in (self.pages, self.writes, self.notifications):
            server.stop()
        if self.kafka is not None:
            self.kafka.stop()

    def _start(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._simulator is not None:
            self._simulator.start()
        for server in (self.pages, self.writes, self.notifications):
            server.start()
        if self.kafka is not None:
            self.kafka.start()
        if "alerts" in self.programs:
            behind = f"http://127.0.0.1:{self.notifications.ports[0]}/alertmanager"
            self.alertmanager = Alertmanager(self.folder / "alertmanager", behind)
            self.alertmanager.start()
        if self._simulator is not None:
            self._require(self._cluster_file.exists, "the simulator")
        self.settings_file.write_text(yaml.safe_dump(self._settings(), sort_keys=False))
        for program in self.programs.values():
            program.start()
        self._require(lambda: bool(self.writes.lines()), "the first samples at the remote-write receiver")

    def kill(self, victims: tuple[str, ...]) -> None:
        """All at once; then they start again."""
        for victim in victims:
            if victim == "kafka" and self.kafka is not None:
                self.kafka.kill()
            else:
                self.programs[victim].kill()
        for victim in victims:
            if victim == "kafka" and self.kafka is not None:
                _start_broker(self.kafka)
            else:
                self.programs[victim].start()

    def wait_for(self, done: Callable[[], bool]) -> bool:
        """Whether it was done in time. RuntimeError with the end of the log when a program has ended by itself."""
        deadline = time.monotonic() + WAIT_S
        while not done():
            for program in self.programs.values():
                if program.failed:
                    raise RuntimeError(f"{program.name} has ended:\n{program.log_tail()}")
            if time.monotonic() > deadline:
                return False
            time.sleep(0.2)
        return True

    def _require(self, done: Callable[[], bool], what: str) -> None:
        if not self.wait_for(done):
            raise RuntimeError(f"waited {WAIT_S:.0f} s for {what}; logs are in {self.folder}")

    def records(self) -> list[RawRecord]:
        """All that the bus has now."""
        if self.kafka is not None:
            return read_kafka_log(self.kafka.folder / "data")
        return read_embedded_log(self.folder / "data" / "bus.sqlite")

    def inject(self, fault: str, lasts_s: int) -> None:
        body = json.dumps({"fault": fault, "lasts": f"{lasts_s}s"}).encode()
        url = f"http://127.4.{ADDRESS_OFFSET}.1:6821/faults"
        request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=60).close()

    def _settings(self) -> dict[str, Any]:
        settings = yaml.safe_load(self._cluster_file.read_text()) if self._simulator else {"global": {}}
        settings["global"] |= {
            "cluster": "crash",
            "data_dir": str(self.folder / "data"),
            "metrics_ports": dict.fromkeys(("ingest", "analytics", "alerts", "export", "recorder"), 0),
        }
        settings["bus"] = {"kind": "embedded", "embedded": {"path": str(self.folder / "data" / "bus.sqlite")}}
        if self.kafka is not None:
            settings["bus"] = {"kind": "kafka", "kafka": {"bootstrap": [self.kafka.address]}}
        settings.setdefault("scrape_configs", []).append(self._numbered_job())
        settings.setdefault("analytics", {}).setdefault("engine", {})["holdback_s"] = HOLDBACK_S
        settings["remote_write"] = [{"url": f"http://127.0.0.1:{self.writes.ports[0]}/api/v1/write"}]
        settings["recording"] = {"path": str(self.folder / "recording"), "slice_s": 5}
        settings["alerting"] = {"receivers": self._receivers(), "pages_max": 1000}
        settings["api"] = {"port": self._api_port}
        return dict(settings)

    def _numbered_job(self) -> dict[str, Any]:
        targets = [
            {"targets": [f"127.0.0.1:{port}"], "labels": {"device": device_of(target)}}
            for target, port in enumerate(self.pages.ports)
        ]
        job = {"job_name": "numbered", "source": "node_exporter", "scrape_interval": PAGE_INTERVAL}
        return {**job, "static_configs": targets}

    def _receivers(self) -> list[dict[str, Any]]:
        webhook = f"http://127.0.0.1:{self.notifications.ports[0]}/webhook"
        found = [{"name": "webhook", "type": "webhook", "url": webhook}]
        if self.alertmanager is not None:
            found.append({"name": "alertmanager", "type": "alertmanager", "url": self.alertmanager.url})
        return found


def _start_broker(kafka: KafkaServer) -> None:
    """A broker on a busy machine gets a second time of waiting until it answers."""
    try:
        kafka.start()
    except RuntimeError:
        kafka.start()
