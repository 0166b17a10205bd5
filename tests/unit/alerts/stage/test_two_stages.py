"""Two alerts stages on two machines, each with a folder of its own: both send, and people see one."""

import json
import time
from pathlib import Path

import pytest

from alerts.config import AlertingConfig
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from bus.base import Bus
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from telemetry.incidents import Incident, IncidentState
from tests.servers.webhook import WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.unit.traffic import publish_incidents
from tests.waiting import until


@pytest.fixture
async def machine(bus, tmp_path, webhook_server, alertmanager):
    """Starts a stage with a folder and a connection to the bus of its own."""
    started: list[AlertsService | Bus] = []

    async def start(name: str) -> AlertsService:
        own_bus = EmbeddedBus(EmbeddedConfig(path=tmp_path / "bus.sqlite"))
        await own_bus.start()
        receivers = (WebhookConfig(url=webhook_server.url), AlertmanagerConfig(url=alertmanager.url))
        folder: Path = tmp_path / name
        stage = AlertsService(AlertingConfig(folder=folder, receivers=receivers, reserve_bytes=0), own_bus)
        await stage.start()
        started.extend((own_bus, stage))
        return stage

    yield start
    for each in reversed(started):
        await each.stop()


def version(at_s: float = 0, **changes: object) -> Incident:
    now_ns = time.time_ns()
    return incident(**({"onset_ns": now_ns - 60 * S, "updated_ns": now_ns + int(at_s * S)} | changes))


def over(at_s: float) -> Incident:
    return version(at_s, state=IncidentState.RESOLVED, resolved_ns=time.time_ns())


def sent(server: WebhookServer) -> list[tuple[str, str]]:
    return sorted((each.headers["x-fabricscope-key"], json.loads(each.body)["status"]) for each in server.accepted)


FIRED, RESOLVED = ("inc-1:1", "firing"), ("inc-1:2", "resolved")


async def test_both_send_under_one_key_and_a_pager_that_drops_repetitions_shows_one(
    bus, machine, webhook_server, alertmanager
):
    await machine("one")
    await machine("other")
    await publish_incidents(bus, version())
    await until(lambda: sent(webhook_server) == [FIRED, FIRED])
    await until(lambda: len(alertmanager.alerts()) == 1)
    await publish_incidents(bus, over(1))
    await until(lambda: sent(webhook_server) == [FIRED, FIRED, RESOLVED, RESOLVED])
    await until(lambda: alertmanager.alerts() == [])


async def test_one_that_saw_nothing_of_the_bus_for_a_while_repeats_what_the_other_sent(
    bus, machine, webhook_server, alertmanager
):
    await (await machine("other")).stop()
    await machine("one")
    await publish_incidents(bus, version())
    await until(lambda: sent(webhook_server) == [FIRED])
    await machine("other")
    await until(lambda: sent(webhook_server) == [FIRED, FIRED])
    await until(lambda: len(alertmanager.alerts()) == 1)
