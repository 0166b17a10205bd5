"""kill -9 of the stage, at random points and at the worst one: every incident is delivered, and visibly once."""

import asyncio
import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from alerts.config import AlertingConfig
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from bus.quarantine.notes import KILLS_MAX
from telemetry.incidents import Incident, IncidentState
from tests.servers.webhook import Answer, Request, WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.unit.traffic import publish_incidents
from tests.waiting import until

KILLS = 8
SEED = 45
ROOT = Path(__file__).parents[3]


class Stage:
    """The stage as a process that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        self.bus_file = folder / "bus.sqlite"
        self._config_file = folder / "alerting.json"
        self._folder = folder
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, *receivers: AlertmanagerConfig | WebhookConfig) -> None:
        config = AlertingConfig(
            folder=self._folder / "alerts", receivers=receivers, reserve_bytes=0, pages_max=1000, retry_first_s=0.05
        )
        self._config_file.write_text(config.model_dump_json())

    def start(self) -> None:
        """Returns when it works."""
        command = [sys.executable, "-m", "tests.unit.alerts.alerts_process", str(self.bus_file), str(self._config_file)]
        self.process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert self.process.stdout is not None
        # the logger writes to the same stream
        assert any(line.strip() == b"started" for line in self.process.stdout), "did not start"

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            assert self.process.stdout is not None
            self.process.stdout.close()
            self.process = None


@pytest.fixture
def stage(tmp_path) -> Iterator[Stage]:
    made = Stage(tmp_path)
    yield made
    made.kill()


def firing(incident_id: str) -> Incident:
    now_ns = time.time_ns()
    return incident(id=incident_id, onset_ns=now_ns - 10 * S, updated_ns=now_ns)


def over(incident_id: str) -> Incident:
    now_ns = time.time_ns()
    return incident(
        id=incident_id, state=IncidentState.RESOLVED, onset_ns=now_ns - 10 * S, updated_ns=now_ns, resolved_ns=now_ns
    )


def visible(server: WebhookServer) -> dict[str, str]:
    """What the receiver shows after it dropped repetitions by their key; a key never changes its meaning."""
    shown: dict[str, str] = {}
    for request in server.accepted:
        key, status = request.headers["x-fabricscope-key"], json.loads(request.body)["status"]
        assert shown.setdefault(key, status) == status
    return shown


async def test_killed_at_random_points_it_delivers_everything_visibly_once(stage, bus, alertmanager, webhook_server):
    chance = random.Random(SEED)
    stage.configure(AlertmanagerConfig(url=alertmanager.url), WebhookConfig(url=webhook_server.url))
    for number in range(KILLS):
        await asyncio.to_thread(stage.start)
        await publish_incidents(bus, firing(f"stays-{number}"), firing(f"ends-{number}"))
        if number:
            await publish_incidents(bus, over(f"ends-{number - 1}"))
        if number % KILLS_MAX == KILLS_MAX - 1:
            # On a busy machine all kills may come while the stage works on the same record, which is then taken for
            # what ends it, and put aside: that is tests/conformance/bus/test_quarantine.py.
            await until(lambda number=number: f"stays-{number}:1" in visible(webhook_server))  # type: ignore[misc]
        # the moment of the kill is the point of the test, not a wait for something
        await asyncio.sleep(chance.random() * 0.15)
        stage.kill()
    await publish_incidents(bus, over(f"ends-{KILLS - 1}"))
    await asyncio.to_thread(stage.start)

    def complete() -> bool:
        shown = visible(webhook_server)
        return (
            all(shown.get(f"stays-{n}:1") for n in range(KILLS))
            and sum(status == "firing" for status in shown.values())
            - sum(status == "resolved" for status in shown.values())
            == KILLS
        )

    await until(complete)
    open_ids = sorted(f"stays-{number}" for number in range(KILLS))
    await until(lambda: sorted(each["labels"]["incident_id"] for each in alertmanager.alerts()) == open_ids)
    shown = visible(webhook_server)
    for number in range(KILLS):
        assert [key for key in shown if key.startswith(f"stays-{number}:")] == [f"stays-{number}:1"]
        ended = {key: status for key, status in shown.items() if key.startswith(f"ends-{number}:")}
        # an incident that began and ended while the stage was dead is not worth a notification
        assert ended in ({}, {f"ends-{number}:1": "firing", f"ends-{number}:2": "resolved"})


class _KillOnArrival(WebhookServer):
    """Takes the notification and kills its sender before that can note it down."""

    def __init__(self, stage: Stage, times: int) -> None:
        super().__init__()
        self._stage, self._times = stage, times

    def answer(self, request: Request) -> Answer:
        answer = super().answer(request)
        if self._times > 0:
            self._times -= 1
            self._stage.kill()
        return answer


async def test_killed_between_effect_and_record_it_repeats_under_the_same_key(stage, bus):
    server = _KillOnArrival(stage, times=2)
    server.start()
    stage.configure(WebhookConfig(url=server.url))
    await publish_incidents(bus, firing("inc"))
    for attempt in range(1, 4):
        await asyncio.to_thread(stage.start)
        await until(lambda attempt=attempt: len(server.accepted) == attempt)  # type: ignore[misc]
        if attempt < 3:
            await until(lambda: stage.process is None)
    await publish_incidents(bus, over("inc"))
    await until(lambda: len(visible(server)) == 2)
    server.stop()
    assert [each.headers["x-fabricscope-key"] for each in server.accepted] == ["inc:1"] * 3 + ["inc:2"]
