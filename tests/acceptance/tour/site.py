"""The simulator, ``fabricscope run`` with its settings, and a webhook receiver: all on loopback, in one folder."""

import contextlib
import json
import time
import urllib.request
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

from common.units import NS_PER_S
from tests.acceptance.lab import KEEPS_UP_INTERVALS, Program
from tests.acceptance.tour.plan import JOBS, Plan
from tests.acceptance.tour.record import Transition, transitions_of
from tests.servers.process import free_port
from tests.servers.webhook import WebhookServer

ADDRESS_OFFSET = 71  # of the simulator's addresses: the demo may run beside it
START_S_MAX = 300.0  # the first start compiles, on a busy machine for minutes
LOOK_EVERY_S = 0.5


class Site:
    """Runs between ``with`` and its end; ``with`` returns when analytics keeps up."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self._folder, self._plan = folder, plan
        self._cluster, self._settings = folder / "cluster.yaml", folder / "fabricscope.yaml"
        self._control = f"http://127.4.{ADDRESS_OFFSET}.1:6821"
        self._port = free_port()
        self.webhook = WebhookServer()
        simulate = ["simulate", "--cluster", str(self._cluster), "--address-offset", str(ADDRESS_OFFSET)]
        self._programs = (
            Program("simulate", [*simulate, "--config-out", str(self._settings)], folder),
            Program("run", ["run", "--config", str(self._settings)], folder),
        )
        self.lag_s_max = 0.0
        self.incidents: dict[str, Mapping[str, Any]] = {}
        self.transitions: set[Transition] = set()

    @property
    def url(self) -> str:
        """Of the NOC page."""
        return f"http://127.0.0.1:{self._port}"

    def __enter__(self) -> "Site":
        try:
            self._start()
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def _start(self) -> None:
        plan, (simulator, program) = self._plan, self._programs
        cluster = {"hosts": plan.hosts, "interval_s": plan.interval_s, "seed": plan.seed, "jobs": {"jobs": JOBS}}
        self._cluster.write_text(yaml.safe_dump(cluster))
        self.webhook.start()
        simulator.start()
        self._wait(self._settings.exists, "the simulator")
        self._complete_settings()
        program.start()
        self._wait(self._keeps_up, "analytics to keep up")

    def _stop(self) -> None:
        for program in reversed(self._programs):
            program.stop()
        self.webhook.stop()

    def _complete_settings(self) -> None:
        """Adds what the simulator's settings leave open: who is paged, and ports that nobody uses."""
        settings = yaml.safe_load(self._settings.read_text())
        settings["global"] |= {
            "cluster": "pod1",
            "metrics_ports": dict.fromkeys(("ingest", "analytics", "alerts"), 0),
        }
        settings["api"] = {"port": self._port}
        settings["alerting"] = {
            "receivers": [{"name": "oncall", "type": "webhook", "url": self.webhook.url}],
            "external_url": "https://fabricscope.example",
            "grafana_url": "https://grafana.example",
        }
        self._settings.write_text(yaml.safe_dump(settings, sort_keys=False))

    def now_ns(self) -> int:
        """Simulated time; remembers how late the simulation was."""
        clock = _json(f"{self._control}/clock")
        self.lag_s_max = max(self.lag_s_max, clock["lag_s"])
        return int(clock["now_ns"])

    def wait_until(self, at_ns: int) -> None:
        """Looks at the incidents meanwhile. RuntimeError with the last log lines of a program that ended."""
        within_s = 3.0 * max(0, at_ns - self.now_ns()) / NS_PER_S + 30.0
        self._wait(lambda: self._look() >= at_ns, "simulated time to pass", within_s)

    def _look(self) -> int:
        for incident in self.api("/api/v1/incidents") or ():
            self.incidents[incident["id"]] = incident
            self.transitions |= transitions_of(incident)
        return self.now_ns()

    def inject(self, fault: str, target: str, begin_s: float, duration_s: float) -> None:
        wanted = {"fault": fault, "target": target, "at": f"+{begin_s:g}s", "lasts": f"{duration_s:g}s"}
        body = json.dumps(wanted).encode()
        _json(urllib.request.Request(f"{self._control}/faults", body, {"Content-Type": "application/json"}))

    def truth(self) -> list[dict[str, Any]]:
        return list(_json(f"{self._control}/truth")["truth"])

    def jobs(self) -> list[dict[str, Any]]:
        """Those that run now."""
        return list(_json(f"{self._control}/state")["jobs"])

    def api(self, path: str) -> Any:
        """The API's answer, None while it does not answer."""
        with contextlib.suppress(OSError, ValueError):
            return _json(f"{self.url}{path}")
        return None

    def ledger(self, stage: str) -> dict[str, Any]:
        """The newest report of a stage, {} before its first."""
        return next((dict(one) for one in self.api("/api/v1/ledger") or () if one["stage"] == stage), {})

    def _keeps_up(self) -> bool:
        report = self.ledger("analytics")
        behind_s = self.now_ns() / NS_PER_S - report["details"]["watermark_seconds"] if report else float("inf")
        return bool(behind_s < KEEPS_UP_INTERVALS * self._plan.interval_s)

    def _wait(self, done: Callable[[], bool], what: str, within_s: float = START_S_MAX) -> None:
        deadline = time.monotonic() + within_s
        while not done():
            for program in self._programs:
                if program.failed:
                    raise RuntimeError(f"{program.name} has ended:\n{program.log_tail()}")
            if time.monotonic() > deadline:
                raise RuntimeError(f"waited {within_s:.0f} s for {what}; logs are in {self._folder}")
            time.sleep(LOOK_EVERY_S)


def _json(url: str | urllib.request.Request) -> Any:
    with urllib.request.urlopen(url, timeout=60) as answer:
        return json.load(answer)
