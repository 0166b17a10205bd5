"""A stage that starts in front of a backlog: what is critical in it does not wait for its turn."""

import time
from collections.abc import Iterable

import pytest

from alerts import deciding, service
from alerts.config import AlertingConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from bus.base import Bus
from telemetry.incidents import Incident, IncidentState, Severity
from tests.servers.webhook import WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.unit.crashing import crash_on, crashes_until
from tests.unit.traffic import publish_incidents
from tests.waiting import until

BACKLOG, ROUND = 3000, 10  # a round costs a commit, so the reader in order is hundreds of commits behind
STORM, KNOWN = 10_000, 5_000


@pytest.fixture
def slow_rounds(monkeypatch):
    monkeypatch.setattr(service, "RECORDS_PER_ROUND", ROUND)


@pytest.fixture
def run(bus, tmp_path, replace, webhook_server):
    async def start(**settings: object) -> AlertsService:
        receivers = (WebhookConfig(url=webhook_server.url),)
        config = AlertingConfig(folder=tmp_path / "alerts", receivers=receivers, reserve_bytes=0, **settings)
        started: AlertsService = await replace(AlertsService(config, bus))
        return started

    return start


def version(name: str, **changes: object) -> Incident:
    now_ns = time.time_ns()
    return incident(id=name, onset_ns=now_ns - 60 * S, updated_ns=now_ns, **changes)


def critical(name: str, **changes: object) -> Incident:
    return version(name, severity=Severity.CRITICAL, **changes)


async def publish_backlog(bus: Bus, count: int, *behind: Incident) -> None:
    for begin in range(0, count, 1000):
        await publish_incidents(bus, *(version(f"inc-{number}") for number in range(begin, begin + 1000)))
    await publish_incidents(bus, *behind)


def keys(server: WebhookServer) -> list[str]:
    return [each.headers["x-fabricscope-key"] for each in server.accepted]


def of(name: str, sent: Iterable[str]) -> list[str]:
    return [key for key in sent if key.startswith(f"{name}:")]


async def test_a_critical_incident_behind_a_backlog_is_paged_before_its_turn(
    bus, run, slow_rounds, webhook_server, monkeypatch
):
    await publish_backlog(bus, BACKLOG, critical("last"))
    stage = await run()
    await until(lambda: "last:1" in keys(webhook_server))
    assert stage.report().samples_in < BACKLOG
    monkeypatch.setattr(service, "RECORDS_PER_ROUND", BACKLOG)
    await until(lambda: stage.report().samples_in == BACKLOG + 1)
    assert of("last", keys(webhook_server)) == ["last:1"], "it is known when its turn comes"
    assert (stage.report().deduplicated, stage.report().balance) == (1, 0)


async def test_what_is_over_at_the_end_of_the_backlog_is_not_paged(bus, run, slow_rounds, webhook_server):
    before = critical("over")
    over = critical("over", state=IncidentState.RESOLVED, resolved_ns=time.time_ns())
    await publish_backlog(bus, 1000, before, critical("last"), over)
    stage = await run()
    await until(lambda: stage.report().samples_in == 1003 and "last:1" in keys(webhook_server))
    assert of("over", keys(webhook_server)) == []


async def test_a_stage_that_ends_before_the_turn_comes_pages_it_once(bus, run, slow_rounds, webhook_server):
    await publish_backlog(bus, 1000, critical("last"))
    await run()
    await until(lambda: "last:1" in keys(webhook_server))
    await run()
    await publish_incidents(bus, critical("new"))
    await until(lambda: "new:1" in keys(webhook_server))
    assert set(of("last", keys(webhook_server))) == {"last:1"}, "a delivery that was cut off comes again under its key"


async def test_one_that_ends_the_stage_is_put_aside_all_the_same(bus, run, slow_rounds, webhook_server, monkeypatch):
    crash_on(monkeypatch, deciding, "decode_record", lambda value, kind: b"poison" in value)
    await publish_backlog(bus, 1000, critical("before"), critical("poison"), critical("after"))

    def paged() -> bool:
        return {"before:1", "after:1"} <= set(keys(webhook_server))

    assert await crashes_until(run, paged) == 3


async def test_a_storm_is_twenty_pages_and_the_critical_one_comes_at_once(bus, run, webhook_server):
    await publish_backlog(bus, STORM, critical("worst"))
    stage = await run(incidents_max=KNOWN)
    await until(lambda: "worst:1" in keys(webhook_server))
    assert stage.report().samples_in < STORM
    await until(lambda: stage.report().samples_in == STORM + 1)
    notified = of("alerts_overloaded-", (key.replace("-", "-:", 1) for key in keys(webhook_server)))
    assert len(notified) == 1, "one page says that there was no room for the others"
    assert len(keys(webhook_server)) <= AlertingConfig().pages_max
    report = stage.report()
    assert report.balance == 0
    assert report.dropped["too_many"] >= STORM - KNOWN - AlertingConfig().pages_max, "the others are counted"
