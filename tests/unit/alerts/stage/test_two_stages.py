"""Two alerts stages on two machines, each with a folder of its own: people see one, whether one or both send."""

import asyncio
import json
import time

import pytest

from alerts.config import AlertingConfig
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from bus.base import Bus
from bus.config import EmbeddedConfig
from bus.embedded.bus import EmbeddedBus
from bus.owner.ownership import Ownership
from common.errors import Superseded, Unavailable
from telemetry.incidents import Incident, IncidentState
from tests.servers.webhook import WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.unit.traffic import publish_incidents
from tests.waiting import DEADLINE_S, until


@pytest.fixture
async def machine(bus, tmp_path, webhook_server, alertmanager):
    """Starts a stage with a folder and a connection to the bus of its own."""
    started: list[AlertsService | Bus] = []

    async def start(name: str, cluster: str = "cluster") -> AlertsService:
        own_bus = EmbeddedBus(EmbeddedConfig(path=tmp_path / "bus.sqlite"))
        await own_bus.start()
        receivers = (WebhookConfig(url=webhook_server.url), AlertmanagerConfig(url=alertmanager.url))
        settings = {"folder": tmp_path / name, "receivers": receivers, "cluster": cluster, "reserve_bytes": 0}
        stage = AlertsService(AlertingConfig.model_validate(settings), own_bus)
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


async def test_both_send_under_one_key_where_the_bus_does_not_say_who_owns(
    bus, machine, webhook_server, alertmanager, monkeypatch
):
    """As two that do not see each other: nobody is muted, and a pager that drops repetitions shows one."""

    async def no_answer(ownership: Ownership) -> None:
        raise Unavailable("no answer")

    monkeypatch.setattr(Ownership, "claim", no_answer)
    await machine("one")
    await machine("other")
    await publish_incidents(bus, version())
    await until(lambda: sent(webhook_server) == [FIRED, FIRED])
    await until(lambda: len(alertmanager.alerts()) == 1)
    await publish_incidents(bus, over(1))
    await until(lambda: sent(webhook_server) == [FIRED, FIRED, RESOLVED, RESOLVED])
    await until(lambda: alertmanager.alerts() == [])


async def test_the_newer_one_sends_alone_and_the_one_before_ends(bus, machine, webhook_server, alertmanager):
    one = await machine("one")
    await publish_incidents(bus, version())
    await until(lambda: sent(webhook_server) == [FIRED])
    await machine("other")
    with pytest.raises(
        Superseded, match=r"alerts: replaced by process \d+ on .*; run one alerts-[0-9a-f]{16} on one bus"
    ):
        async with asyncio.timeout(DEADLINE_S):
            await one.wait()
    await until(lambda: sent(webhook_server) == [FIRED, FIRED])
    await publish_incidents(bus, over(1))
    await until(lambda: sent(webhook_server) == [FIRED, FIRED, RESOLVED])
    await until(lambda: alertmanager.alerts() == [])
    first, repeated, end = (each.headers for each in webhook_server.accepted)
    assert first["x-fabricscope-owner"] == repeated["x-fabricscope-owner"] == end["x-fabricscope-owner"]
    epochs = [int(each["x-fabricscope-owner-epoch"]) for each in (first, repeated, end)]
    assert epochs[0] < epochs[1] == epochs[2]


async def test_one_with_other_settings_of_receivers_mutes_nobody(bus, machine, webhook_server):
    await machine("one")
    await machine("trial", cluster="trial")
    await publish_incidents(bus, version())
    await until(lambda: sent(webhook_server) == [FIRED, FIRED])
    await publish_incidents(bus, over(1))
    await until(lambda: sent(webhook_server) == [FIRED, FIRED, RESOLVED, RESOLVED])
    clusters = {json.loads(each.body)["commonLabels"]["cluster"] for each in webhook_server.accepted}
    assert clusters == {"cluster", "trial"}


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
