"""A test environment: the simulator, a bus, the stages as the program starts them, and a real Alertmanager."""

import contextlib
import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import yaml

from common.units import NS_PER_S
from simulator.config import JobMix
from telemetry.objects import EVENT_TIME_MAX
from tests.acceptance.pagers import Pagers
from tests.servers.alertmanager import Alertmanager
from tests.servers.kafka import KafkaServer
from tests.servers.process import free_port
from tests.waiting import DEADLINE_S

Engine = Literal["embedded", "kafka"]
STAGES = ("ingest", "analytics", "alerts", "api")
ENGINES: tuple[Engine, ...] = ("embedded", "kafka")
_BUILD = Path(__file__).parents[2] / "build"
KEEPS_UP_INTERVALS = 12  # reports are five seconds of the wall clock apart


class Program:
    """One ``fabricscope`` command, or another module's, as a child process; its output is kept in a log file."""

    def __init__(self, name: str, arguments: list[str], folder: Path, module: str = "fabricscope") -> None:
        self.name, self._module = name, module
        self.log = folder / f"{name}.log"
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._wanted = False

    def start(self) -> None:
        self._wanted = True
        with self.log.open("ab") as log:
            command = [sys.executable, "-m", self._module, *self._arguments]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    @property
    def pid(self) -> int | None:
        """None before its start, and after its end."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def failed(self) -> bool:
        """Whether it ended without ``stop`` or ``kill``."""
        return self._wanted and self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """kill -9."""
        self._wanted = False
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self) -> float | None:
        """SIGTERM; kill -9 after 60 s. Seconds until it ended in order; None when it did not."""
        self._wanted = False
        if self._process is None or self._process.poll() is not None:
            return None
        began_s = time.monotonic()
        self._process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=60)
        took_s = time.monotonic() - began_s
        self.kill()
        return took_s if self._process.returncode == 0 else None

    def log_tail(self) -> str:
        return self.log.read_text(errors="replace")[-3000:] if self.log.exists() else ""


class Lab:
    """Everything on loopback, everything in one folder.

    speed: simulated seconds per second. interval_s: collection interval, in simulated time.
    pagers: more receivers.
    """

    def __init__(
        self,
        folder: Path,
        engine: Engine,
        *,
        speed: float = 10.0,
        interval_s: float = 10.0,
        hosts: int = 8,
        seed: int = 1,
        address_offset: int = 0,
        pagers: Pagers | None = None,
    ) -> None:
        self.folder, self.engine, self.speed, self.interval_s = folder, engine, speed, interval_s
        self.settings_file = folder / "fabricscope.yaml"
        self.alertmanager = Alertmanager(folder / "alertmanager", pagers.behind_alertmanager.url if pagers else "")
        self.kafka = KafkaServer(folder / "kafka") if engine == "kafka" else None
        self.api_port = free_port()
        self._pagers = pagers
        self._control = f"http://127.4.{address_offset}.1:6821"
        self._cluster_file = folder / "cluster.yaml"
        cluster = ["simulate", "--hosts", str(hosts), "--interval", f"{interval_s:g}s", "--speed", str(speed)]
        cluster += [
            "--seed",
            str(seed),
            "--address-offset",
            str(address_offset),
            "--config-out",
            str(self._cluster_file),
        ]
        self.simulator = Program("simulator", cluster, folder)
        self.stages = {name: Program(name, [name, "--config", str(self.settings_file)], folder) for name in STAGES}

    def __enter__(self) -> "Lab":
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Returns when the API is ready and the first samples are there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        if self.kafka is not None:
            self.kafka.start()
        self.alertmanager.start()
        self.simulator.start()
        self.wait_for(self._cluster_file.exists, "the simulator")
        self._write_settings()
        for stage in self.stages.values():
            stage.start()
        self.wait_for(lambda: bool(self.api("/api/v1/targets")), "the first samples")

    def stop(self) -> None:
        for stage in self.stages.values():
            stage.stop()
        self.simulator.stop()
        self.alertmanager.kill()
        if self.kafka is not None:
            self.kafka.stop()

    def wait_for(self, done: Callable[[], bool], what: str, within_s: float = DEADLINE_S) -> None:
        """Polls; RuntimeError with the last log lines of a program that ended, or when time is up."""
        deadline = time.monotonic() + within_s
        while not done():
            for program in (self.simulator, *self.stages.values()):
                if program.failed:
                    raise RuntimeError(f"{program.name} has ended:\n{program.log_tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {within_s:.0f} s for {what}; logs are in {self.folder}")
            time.sleep(0.05)

    def now_ns(self) -> int:
        """Simulated time."""
        return int(_json(f"{self._control}/clock")["now_ns"])

    def inject(self, fault: str, duration_s: float) -> dict[str, Any]:
        """Injects a fault now; returns its ground truth."""
        known = len(self._truth())
        body = json.dumps({"fault": fault, "lasts": f"{duration_s:g}s"}).encode()
        _json(urllib.request.Request(f"{self._control}/faults", body, {"Content-Type": "application/json"}))
        self.wait_for(lambda: len(self._truth()) > known, f"{fault} to begin")
        return self._truth()[-1]

    def _truth(self) -> list[dict[str, Any]]:
        return list(_json(f"{self._control}/truth")["truth"])

    def checkpoint_due_ns(self) -> int:
        """When the next checkpoint of a job that has written one is due: jobs begin it with the iteration after.

        Beyond all times while no job that runs has written one.
        """
        period_ns = int(JobMix().checkpoint_period_s * NS_PER_S)
        ended_ns = (int(job["last_checkpoint_ns"]) for job in _json(f"{self._control}/state")["jobs"])
        return min((each + period_ns for each in ended_ns if each), default=EVENT_TIME_MAX)

    def changes(self) -> list[dict[str, Any]]:
        """Change events so far: jobs that started and ended, announced maintenance."""
        return list(_json(f"{self._control}/changes")["changes"])

    def ledger(self, stage: str) -> dict[str, Any]:
        """The newest report of a stage, {} before its first."""
        return next((dict(one) for one in self.api("/api/v1/ledger") or () if one["stage"] == stage), {})

    def keeps_up(self) -> bool:
        """Whether analytics has processed recent samples: on a first start it compiles for half a minute."""
        report = self.ledger("analytics")
        behind_s = self.now_ns() / NS_PER_S - report["details"]["watermark_seconds"] if report else float("inf")
        return bool(behind_s < KEEPS_UP_INTERVALS * self.interval_s)

    def incidents(self) -> list[dict[str, Any]]:
        """The API's incidents, most severe first."""
        found = self.api("/api/v1/incidents")
        return found if isinstance(found, list) else []

    def api(self, path: str) -> Any:
        """The API's answer, None while it does not answer."""
        with contextlib.suppress(OSError, ValueError):
            return _json(f"http://127.0.0.1:{self.api_port}{path}")
        return None

    def _write_settings(self) -> None:
        settings = yaml.safe_load(self._cluster_file.read_text())
        settings["global"] |= {
            "cluster": "lab",
            "data_dir": str(self.folder / "data"),
            "metrics_ports": dict.fromkeys(("ingest", "analytics", "alerts"), 0),
        }
        if self.kafka is not None:
            settings["bus"] = {"kind": "kafka", "kafka": {"bootstrap": [self.kafka.address]}}
        else:
            settings.pop("bus", None)
        receivers: list[dict[str, Any]] = [
            {"name": "alertmanager", "type": "alertmanager", "url": self.alertmanager.url}
        ]
        if self._pagers is not None:
            receivers.append({"name": "webhook", "type": "webhook", "url": self._pagers.direct.url})
        settings["alerting"] = {"receivers": receivers}
        settings["api"] = {"port": self.api_port}
        self.settings_file.write_text(yaml.safe_dump(settings, sort_keys=False))


def engines_named(arguments: list[str]) -> list[Engine]:
    """The engines that the command line names; both when it names none."""
    return [engine for engine in ENGINES if not arguments or engine in arguments]


def _json(url: str | urllib.request.Request) -> Any:
    with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
        return json.load(answer)


@contextlib.contextmanager
def lab_folder(name: str) -> Iterator[Path]:
    """``build/NAME``, empty; kept afterwards, because its logs explain failures."""
    folder = _BUILD / name
    if folder.exists():
        subprocess.run(["rm", "-rf", str(folder)], check=True)
    folder.mkdir(parents=True)
    yield folder
