"""An incident that ends the stage does so twice alone, and is put aside; everybody else is paged."""

from alerts import deciding
from alerts.config import AlertingConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from bus.deadletter import OFFSET, REASON
from tests.unit.alerts.incident_factory import incident
from tests.unit.crashing import crash_on, crashes_until, dead_letters
from tests.unit.traffic import publish_incidents


async def test_the_incidents_around_it_are_paged(bus, tmp_path, replace, webhook_server, monkeypatch):
    crash_on(monkeypatch, deciding, "decode_record", lambda value, kind: b"poison" in value)
    await publish_incidents(bus, *(incident(id=name) for name in ("before", "poison", "after")))
    config = AlertingConfig(
        folder=tmp_path / "alerts", receivers=(WebhookConfig(url=webhook_server.url),), reserve_bytes=0
    )
    started: list[AlertsService] = []

    async def start() -> AlertsService:
        started.append(await replace(AlertsService(config, bus)))
        return started[-1]

    def paged() -> bool:
        return {each.headers["x-fabricscope-key"] for each in webhook_server.accepted} == {"before:1", "after:1"}

    assert await crashes_until(start, paged) == 3
    assert "incidents.v1[0] 1 ended this stage repeatedly" in (started[-1].problem() or "")
    assert started[-1].report().balance == 0
    (letter,) = await dead_letters(bus)
    assert (letter.headers[REASON], letter.headers[OFFSET]) == (b"crashed", b"1")
