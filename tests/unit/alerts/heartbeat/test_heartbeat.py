"""The dead man's switch of a stage that runs: a service outside is asked for as long as somebody can be paged."""

import time

import pytest
from structlog.testing import capture_logs

from alerts.config import AlertingConfig
from alerts.heartbeat import heartbeat, pipeline
from alerts.heartbeat.config import HeartbeatConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from bus.base import Bus
from bus.reporting import publish_report
from telemetry.ledger import StageReport
from tests.servers.webhook import Answer, WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.unit.traffic import publish_incidents
from tests.waiting import until


@pytest.fixture
def snitch():
    """The service outside."""
    server = WebhookServer()
    server.start()
    yield server
    server.stop()


@pytest.fixture
def run(bus, tmp_path, replace, snitch, monkeypatch):
    monkeypatch.setattr(heartbeat, "AGAIN_S", 0.05)

    async def start(*receivers: WebhookConfig, **settings: object) -> AlertsService:
        beat = HeartbeatConfig.model_validate({"url": snitch.url, "interval_s": 1} | settings)
        config = AlertingConfig(folder=tmp_path / "alerts", receivers=receivers, reserve_bytes=0, heartbeat=beat)
        started: AlertsService = await replace(AlertsService(config, bus))
        return started

    return start


async def report_stages(bus: Bus) -> None:
    now_ns = time.time_ns()
    await publish_report(bus.publish, StageReport("ingest", "ingest-0", 1, now_ns))
    details = {"watermark_seconds": now_ns / S}
    await publish_report(bus.publish, StageReport("analytics", "analytics-0", 1, now_ns, details=details))


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_it_is_sent_again_and_again_while_all_is_well(bus, run, snitch, method, tmp_path):
    (tmp_path / "url").write_text(snitch.url + "\n")
    stage = await run(url="", url_file=tmp_path / "url", method=method)
    await report_stages(bus)
    await until(lambda: len(snitch.accepted) >= 2)
    assert {(each.method, each.body) for each in snitch.accepted} == {(method, b"")}
    assert stage.problem() is None


async def test_none_is_sent_before_the_stages_were_heard(bus, run, snitch):
    stage = await run()
    await until(lambda: stage.problem() == "heartbeat withheld: no report of ingest yet")
    assert snitch.requests == []
    await report_stages(bus)
    await until(lambda: snitch.accepted)
    await until(lambda: stage.problem() is None)


async def test_none_is_sent_while_nothing_comes_over_the_bus(bus, run, snitch, monkeypatch):
    stage = await run()
    await report_stages(bus)
    await until(lambda: snitch.accepted)
    await bus.stop()
    monkeypatch.setattr(pipeline, "SILENT_S", 0.1)
    await until(lambda: "heartbeat withheld: no report of ingest for" in (stage.problem() or ""))


async def test_none_is_sent_while_no_receiver_accepts_anything(bus, run, snitch, webhook_server):
    webhook_server.script.extend([Answer(404)])
    stage = await run(WebhookConfig(name="chat", url=webhook_server.url))
    await report_stages(bus)
    now_ns = time.time_ns()
    await publish_incidents(bus, incident(onset_ns=now_ns, updated_ns=now_ns))
    await until(lambda: "no receiver accepts anything: chat: answered 404" in (stage.problem() or ""))
    await publish_incidents(bus, incident(id="inc-2", onset_ns=now_ns, updated_ns=now_ns))
    await until(lambda: len(webhook_server.accepted) == 1)
    await until(lambda: stage.problem() is None)


async def test_a_service_that_does_not_accept_it_is_a_problem_said_once_without_the_address(bus, run, snitch):
    stage = await run()
    await report_stages(bus)
    await until(lambda: snitch.accepted)
    await until(lambda: stage.problem() is None)
    before = len(snitch.accepted)
    with capture_logs() as logs:
        snitch.script.extend([Answer(500), Answer(404)])
        await until(lambda: len(snitch.accepted) > before and not snitch.script)
        await until(lambda: stage.problem() is None)
    said = [each["error"] for each in logs if each["event"] == "heartbeat not sent"]
    assert said == ["heartbeat: answered 500"]
    assert "canary" not in str(logs)
