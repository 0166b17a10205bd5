"""Incidents that the bus has lost: the alerts stage says so and goes on."""

import json

from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from alerts.config import AlertingConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from telemetry import topics
from tests.unit.alerts.incident_factory import incident
from tests.unit.lost_records import lose
from tests.unit.traffic import publish_incidents
from tests.waiting import until

GAPS = "fabricscope_alerts_gaps_total"


async def test_lost_incidents_are_reported_and_the_others_page(bus, tmp_path, webhook_server, replace):
    for name in ("inc-1", "inc-2", "inc-3"):  # a row of the log each
        await publish_incidents(bus, incident(id=name))
    lose(tmp_path / "bus.sqlite", topics.INCIDENTS, 1)
    before = REGISTRY.get_sample_value(GAPS) or 0.0
    config = AlertingConfig(
        folder=tmp_path / "alerts", reserve_bytes=0, receivers=(WebhookConfig(url=webhook_server.url),)
    )
    with capture_logs() as logged:
        await replace(AlertsService(config, bus))
        await until(lambda: len(webhook_server.accepted) == 2)
    paged = [json.loads(each.body)["alerts"][0]["labels"]["incident_id"] for each in webhook_server.accepted]
    assert paged == ["inc-1", "inc-3"]
    assert REGISTRY.get_sample_value(GAPS) == before + 1
    (warning,) = [line for line in logged if line["event"] == "gap on the bus"]
    assert (warning["topic"], warning["first"], warning["last"]) == (topics.INCIDENTS.name, 1, 1)
