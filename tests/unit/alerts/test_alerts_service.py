import asyncio
import json
import time

import pytest
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from alerts.config import AlertingConfig
from alerts.matcher import Matcher
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.route import Route
from alerts.service import AlertsService
from alerts.silence import Silence
from bus.base import Message
from bus.config import EmbeddedConfig
from bus.deadletter import REASON
from bus.embedded.bus import EmbeddedBus
from bus.owner.fence import EPOCH
from bus.owner.sending import EPOCH_HEADER
from bus.reporting import publish_report
from common.errors import ConfigError
from telemetry import objects, topics
from telemetry.codec.records import encode_record
from telemetry.incidents import BlastRadius, Incident, IncidentState, Severity
from telemetry.ledger import StageReport
from tests.servers.webhook import Answer, WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.unit.common.sqlite.things import overwrite
from tests.unit.traffic import first_report, publish_incidents
from tests.waiting import until

FILES_DAMAGED = "fabricscope_alerts_files_damaged_total"


@pytest.fixture
def run(bus, tmp_path, replace):
    """Starts a stage in place of the one before."""

    async def start(*receivers: AlertmanagerConfig | WebhookConfig, **settings: object) -> AlertsService:
        settings = {"folder": tmp_path / "alerts", "reserve_bytes": 0, "retry_first_s": 0.05} | settings
        service: AlertsService = await replace(AlertsService(AlertingConfig(receivers=receivers, **settings), bus))
        return service

    return start


def version(at_s: float = 0, **changes: object) -> Incident:
    now_ns = time.time_ns()
    return incident(**({"onset_ns": now_ns - 60 * S, "updated_ns": now_ns + int(at_s * S)} | changes))


def over(at_s: float, **changes: object) -> Incident:
    return version(at_s, state=IncidentState.RESOLVED, resolved_ns=time.time_ns(), **changes)


def hook(server: WebhookServer, **settings: object) -> WebhookConfig:
    return WebhookConfig(url=server.url, **settings)


def sent(server: WebhookServer) -> list[tuple[str, str]]:
    return [(each.headers["x-fabricscope-key"], json.loads(each.body)["status"]) for each in server.accepted]


def test_a_replay_can_never_page(tmp_path):
    bus = EmbeddedBus(EmbeddedConfig(path=tmp_path / "bus.sqlite"))
    with pytest.raises(ConfigError, match="replay"):
        AlertsService(AlertingConfig(), bus, topic=topics.in_namespace(topics.INCIDENTS, "r1"))


async def test_from_the_bus_to_a_real_alertmanager_and_a_webhook_and_back_to_quiet(
    run, bus, alertmanager, webhook_server
):
    service = await run(AlertmanagerConfig(url=alertmanager.url), hook(webhook_server))
    await publish_incidents(bus, version(0, state=IncidentState.PENDING), version(1))
    await until(lambda: len(alertmanager.alerts()) == 1 and sent(webhook_server) == [("inc-1:1", "firing")])
    await publish_incidents(bus, version(2, gpu_seconds=9e9), over(3))
    await until(lambda: alertmanager.alerts() == [] and len(webhook_server.accepted) == 2)
    assert sent(webhook_server)[1] == ("inc-1:2", "resolved")
    await until(lambda: service.report().samples_in == 4)
    assert service.report().balance == 0
    assert service.problem() is None


async def test_alertmanager_shows_what_an_open_incident_reaches_by_now(run, bus, alertmanager):
    """A page is no snapshot: what is sent again has the words of the newest version, under the labels of the page."""
    await run(AlertmanagerConfig(url=alertmanager.url, resend_s=0.05))
    reaches = {count: BlastRadius(gpus=tuple(f"node1/GPU-{n}" for n in range(count))) for count in (8, 48)}
    await publish_incidents(bus, version(0, blast=reaches[8]))
    await until(lambda: [each["annotations"]["blast_radius"] for each in alertmanager.alerts()] == ["8 GPUs"])
    (paged,) = alertmanager.alerts()
    # milder, and of another root within update_quiet_s: nothing of which people are notified
    milder = {"title": "[INFO] pod1: PFC storm", "severity": Severity.INFO, "root": objects.port("leaf2", "Ethernet8")}
    await publish_incidents(bus, version(1, blast=reaches[48], **milder))
    await until(lambda: [each["annotations"]["blast_radius"] for each in alertmanager.alerts()] == ["48 GPUs"])
    (shown,) = alertmanager.alerts()
    assert shown["labels"] == paged["labels"]
    assert shown["fingerprint"] == paged["fingerprint"]
    assert shown["annotations"]["title"] == "[INFO] pod1: PFC storm"


async def test_a_restart_sends_nothing_again_and_the_end_still_comes(run, bus, webhook_server):
    await run(hook(webhook_server))
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.accepted) == 1)
    await (await run(hook(webhook_server))).stop()
    await publish_incidents(bus, version(1), over(2))
    await run(hook(webhook_server))
    # A stop between the effect and its record sends again with the same key, and receivers drop that.
    await until(lambda: len(set(sent(webhook_server))) == 2)
    assert list(dict.fromkeys(sent(webhook_server))) == [("inc-1:1", "firing"), ("inc-1:2", "resolved")]


async def test_a_page_that_waits_is_sent_also_while_the_bus_is_away(run, bus, replace, webhook_server, tmp_path):
    """Who owns what is sent is on the bus: one that does not answer mutes nobody."""
    webhook_server.script.append(Answer(500))
    await run(hook(webhook_server), retry_first_s=1000, retry_most_s=1000)
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.requests) == 1)
    (tmp_path / "file").write_text("")
    nowhere = EmbeddedBus(EmbeddedConfig(path=tmp_path / "file" / "bus.sqlite"))
    await nowhere.start()
    config = AlertingConfig(receivers=(hook(webhook_server),), folder=tmp_path / "alerts", reserve_bytes=0)
    service = await replace(AlertsService(config, nowhere))
    await until(lambda: sent(webhook_server) == [("inc-1:1", "firing")])
    refused, accepted = (each.headers for each in webhook_server.requests)
    assert EPOCH_HEADER.lower() in refused
    assert EPOCH_HEADER.lower() not in accepted
    await service.stop()
    await nowhere.stop()


async def test_nobody_is_paged_for_what_a_replaced_owner_publishes(run, bus, webhook_server):
    service = await run(hook(webhook_server))

    def keys() -> list[str]:
        return list(dict.fromkeys(key for key, _ in sent(webhook_server)))

    async def publish(epoch: int, *versions: Incident | None) -> None:
        headers = {EPOCH: b"%d" % epoch}
        values = [(each.id.encode(), encode_record(each)) if each else (b"owner", None) for each in versions]
        await bus.publish(topics.INCIDENTS, [Message(key, value, headers) for key, value in values])

    await publish(5, version(0))
    await publish(6, None)  # a newer owner has started; nothing has changed for it
    await publish(5, version(1, id="false"), over(2))
    await publish(6, version(1, id="inc-2"))
    await until(lambda: len(webhook_server.accepted) == 2)
    assert service.report().dropped["stale_owner"] == 2
    assert service.report().balance == 0
    service = await run(hook(webhook_server))  # what it has learned of owners outlives a restart
    await publish(5, version(3, id="false"))
    await publish(6, version(3, id="inc-3"))
    await until(lambda: "inc-3:1" in keys())  # what was cut off by the restart is sent again, under its key
    assert service.report().dropped["stale_owner"] == 1
    assert keys() == ["inc-1:1", "inc-2:1", "inc-3:1"]


async def test_what_was_published_before_a_change_of_owners_pages_however_late_it_is_read(run, bus, webhook_server):
    await bus.publish(topics.INCIDENTS, [Message(b"inc-1", encode_record(version(0)), {EPOCH: b"5"})])
    await bus.publish(topics.INCIDENTS, [Message(b"owner", None, {EPOCH: b"6"})])
    await run(hook(webhook_server))
    await until(lambda: sent(webhook_server) == [("inc-1:1", "firing")])


async def test_alertmanager_gets_open_alerts_again_after_it_forgot_them(run, bus, alertmanager):
    await run(AlertmanagerConfig(url=alertmanager.url, resend_s=0.1))
    await publish_incidents(bus, version(0), version(0, id="inc-2"), over(1, id="inc-2"))
    await until(lambda: len(alertmanager.alerts()) == 1)
    alertmanager.kill()
    for part in (alertmanager.folder / "data").iterdir():
        part.unlink()
    alertmanager.start()
    await until(lambda: len(alertmanager.alerts()) == 1)


async def test_trouble_that_passes_is_outlived_in_order_and_under_the_same_key(run, bus, webhook_server):
    webhook_server.script.extend([Answer(500), Answer(429, (("Retry-After", "0"),)), Answer(0), Answer(503)])
    service = await run(hook(webhook_server))
    await publish_incidents(bus, version(0))
    await until(lambda: service.problem() is not None)
    await publish_incidents(bus, over(1))
    await until(lambda: len(webhook_server.accepted) == 2)
    assert sent(webhook_server) == [("inc-1:1", "firing"), ("inc-1:2", "resolved")]
    assert [each.headers["x-fabricscope-key"] for each in webhook_server.requests] == ["inc-1:1"] * 5 + ["inc-1:2"]
    await until(lambda: service.problem() is None)


async def test_what_is_not_durable_is_not_sent_and_tried_until_it_is(run, bus, webhook_server):
    service = await run(hook(webhook_server))
    limit = service._outbox._db.execute
    await asyncio.to_thread(limit, "PRAGMA max_page_count = 1")  # SQLite takes the present size: a full disk
    await publish_incidents(bus, version(0, action="x" * 100_000))
    await until(lambda: service.problem() == "outbox: database or disk is full")
    assert webhook_server.requests == []
    await asyncio.to_thread(limit, "PRAGMA max_page_count = 100000")
    await until(lambda: sent(webhook_server) == [("inc-1:1", "firing")])
    assert service.problem() is None


@pytest.mark.parametrize("content", [b"\0" * 8192, b"no database", None])
async def test_it_starts_on_a_damaged_outbox_says_so_and_delivers(run, bus, webhook_server, tmp_path, content):
    webhook_server.script.append(Answer(500))
    service = await run(hook(webhook_server), retry_first_s=1000, retry_most_s=1000)
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.requests) == 1)
    await service.stop()
    file = tmp_path / "alerts" / "outbox.sqlite"
    if content is None:
        overwrite(file, "UPDATE deliveries SET created_ns = created_ns - 1")
    else:
        file.write_bytes(content)
    before = REGISTRY.get_sample_value(FILES_DAMAGED, {"file": "outbox.sqlite"}) or 0
    with capture_logs() as logs:
        service = await run(hook(webhook_server))
        await until(lambda: len(webhook_server.accepted) == 1)
    assert [each["file"] for each in logs if each["event"] == "damaged file set aside"] == ["outbox.sqlite"]
    assert REGISTRY.get_sample_value(FILES_DAMAGED, {"file": "outbox.sqlite"}) == before + 1
    await until(lambda: "outbox.sqlite was damaged" in str(service.problem()))
    await publish_incidents(bus, over(1))
    await until(lambda: len(webhook_server.accepted) == 2)
    firing, ended = sent(webhook_server)
    assert (firing[1], ended[1]) == ("firing", "resolved")
    assert firing[0] != ended[0]


async def test_damage_at_work_is_set_aside_and_the_work_goes_on(run, bus, webhook_server, tmp_path):
    webhook_server.script.extend([Answer(503)] * 3)
    service = await run(hook(webhook_server))
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.requests) == 1)
    overwrite(tmp_path / "alerts" / "outbox.sqlite", "UPDATE deliveries SET receiver = receiver, created_ns = 1")
    webhook_server.script.clear()
    await until(lambda: "outbox.sqlite was damaged" in str(service.problem()))
    await until(lambda: sent(webhook_server)[:1] == [("inc-1:1", "firing")])
    await publish_incidents(bus, over(1))
    await until(lambda: [status for _, status in sent(webhook_server)][-1] == "resolved")
    assert service.report().samples_in >= 2


async def test_silences_of_a_newer_version_are_refused_at_start(run, tmp_path):
    (tmp_path / "alerts").mkdir()
    overwrite(tmp_path / "alerts" / "silences.sqlite", "PRAGMA user_version = 99")
    with pytest.raises(ConfigError, match=r"alerting.folder .*: written by a newer version \(99\)"):
        await run()


async def test_a_damaged_silence_holds_no_page_and_is_said(run, bus, webhook_server, tmp_path):
    service = await run(hook(webhook_server))
    now_ns = time.time_ns()
    matchers = (Matcher(name="alertname", value="SlowReceiver"),)
    service.silences.add(
        Silence(id="s", matchers=matchers, starts_ns=now_ns, ends_ns=now_ns + 3600 * S, created_by="ann")
    )
    await publish_incidents(bus, version(0))
    await until(lambda: service.report().samples_in == 1)
    overwrite(tmp_path / "alerts" / "silences.sqlite", "UPDATE silences SET ends_ns = ends_ns + 1")
    before = REGISTRY.get_sample_value(FILES_DAMAGED, {"file": "silences.sqlite"}) or 0
    await until(lambda: len(webhook_server.accepted) == 1)
    assert REGISTRY.get_sample_value(FILES_DAMAGED, {"file": "silences.sqlite"}) == before + 1


async def test_what_one_receiver_rejects_the_fallback_gets_with_its_end(run, bus, webhook_server):
    second = WebhookServer()
    second.start()
    webhook_server.script.append(Answer(404))
    service = await run(
        hook(webhook_server, name="first"), hook(second, name="second"), fallback="second", pages_max=100
    )
    await publish_incidents(bus, version(0))
    await until(lambda: sent(second) == [("inc-1:1", "firing")])
    assert "answered 404" in str(service.problem())
    await publish_incidents(bus, over(1))
    await until(lambda: len(second.accepted) == 2)
    assert sent(second)[1] == ("inc-1:2", "resolved")
    assert webhook_server.accepted == [], "who was never notified of it gets no resolve"
    second.stop()


async def test_a_delivery_that_nobody_accepts_does_not_hold_up_the_others(run, bus, webhook_server):
    webhook_server.script.append(Answer(500))
    await run(hook(webhook_server), retry_first_s=0.01)
    await publish_incidents(bus, version(0), version(0, id="inc-2"))
    await until(lambda: len(webhook_server.accepted) == 2)


async def test_deliveries_to_a_receiver_that_left_go_to_the_fallback(run, bus, webhook_server):
    gone = WebhookConfig(name="gone", url="http://127.0.0.1:1")
    await run(gone)
    await publish_incidents(bus, version(0))
    service = await run(gone)
    await until(lambda: service.problem() is not None)
    await run(hook(webhook_server, name="here"), fallback="here")
    await until(lambda: sent(webhook_server) == [("inc-1:1", "firing")])


async def test_a_silence_added_while_running_holds_the_page(run, bus, webhook_server):
    service = await run(hook(webhook_server))
    now_ns = time.time_ns()
    matchers = (Matcher(name="alertname", value="SlowReceiver"),)
    service.silences.add(
        Silence(id="s", matchers=matchers, starts_ns=now_ns, ends_ns=now_ns + 3600 * S, created_by="ann")
    )
    await publish_incidents(bus, version(0))
    await until(lambda: service.report().samples_in == 1)
    assert webhook_server.requests == []
    service.silences.expire("s")
    await until(lambda: len(webhook_server.accepted) == 1)


async def test_a_bad_record_is_dead_lettered_and_the_rest_goes_on(run, bus, webhook_server):
    service = await run(hook(webhook_server))
    await bus.publish(topics.INCIDENTS, [Message(b"x", b'{"id": 3}'), Message(b"y", None)])
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.accepted) == 1)
    assert service.report().dropped["bad_record"] == 1
    assert service.report().balance == 0
    letters = bus.consume([topics.DEADLETTER], {})
    (letter,) = await letters.poll()
    await letters.stop()
    assert (letter.value, letter.headers[REASON]) == (b'{"id": 3}', b"schema")


async def test_the_stage_reports_itself_on_the_ledger(run, bus, monkeypatch):
    monkeypatch.setattr("alerts.service.REPORT_S", 0.05)
    await run()
    report = await first_report(bus)
    assert (report.stage, report.details["lag_records"]) == ("alerts", 0.0)


async def test_stop_is_safe_before_start_and_twice_and_quick_while_a_receiver_hangs(bus, tmp_path, webhook_server):
    config = AlertingConfig(folder=tmp_path / "a", reserve_bytes=0, receivers=(hook(webhook_server, timeout_s=100),))
    service = AlertsService(config, bus)
    await service.stop()
    webhook_server.script.append(Answer(-1))
    await service.start()
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.requests) == 1)
    async with asyncio.timeout(60):
        await service.stop()
        await service.stop()


async def test_severity_routes_to_more_people_when_it_gets_worse(run, bus, webhook_server):
    second = WebhookServer()
    second.start()
    critical = Route(matchers=(Matcher(name="severity", value="critical"),), receivers=("day", "night"))
    await run(
        hook(webhook_server, name="day"), hook(second, name="night"), routes=(critical, Route(receivers=("day",)))
    )
    await publish_incidents(bus, version(0))
    await until(lambda: len(webhook_server.accepted) == 1)
    await publish_incidents(bus, version(1, severity=Severity.CRITICAL))
    await until(lambda: sent(second) == [("inc-1:2", "firing")])
    await publish_incidents(bus, over(2))
    await until(lambda: len(second.accepted) == 2 and len(webhook_server.accepted) == 3)
    second.stop()


async def test_people_are_notified_that_there_was_no_room_and_that_it_is_over(run, bus, webhook_server):
    await run(hook(webhook_server), incidents_max=1, pages_max=2, pages_critical_reserve=1, quiet_s=0.2)
    await publish_incidents(bus, *(version(0, id=f"inc-{n}") for n in range(5)))
    await until(lambda: len(webhook_server.accepted) == 3)
    own = [(key, status) for key, status in sent(webhook_server) if key.startswith("alerts_overloaded-")]
    assert [(key.partition(":")[2], status) for key, status in own] == [("1", "firing"), ("2", "resolved")]


def dropping(at_ns: int, received: int, dropped: int) -> StageReport:
    return StageReport("analytics", "a", 1, at_ns, samples_in=received, dropped={"late": dropped})


async def test_people_are_notified_that_most_samples_are_dropped_and_that_it_is_over(run, bus, webhook_server):
    await run(hook(webhook_server), drops_hold_s=0, quiet_s=0.2)
    began_ns = time.time_ns()
    for second, dropped in ((0, 0), (5, 900)):
        await publish_report(bus.publish, dropping(began_ns + second * 10**9, 100 + 200 * second, dropped))
    await until(lambda: len(webhook_server.accepted) == 1)
    (page,) = webhook_server.accepted
    body = page.body.decode()
    assert "samples_dropped-" in body
    assert "analytics: 900 of 1,000 samples were dropped, mostly late" in body
    await publish_report(bus.publish, dropping(began_ns + 70 * 10**9, 50_000, 900))
    await until(lambda: len(webhook_server.accepted) == 2)
    assert [status for _, status in sent(webhook_server)] == ["firing", "resolved"]
