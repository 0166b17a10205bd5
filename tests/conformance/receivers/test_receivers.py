"""What every receiver promises, whatever its service answers; then each against the real thing."""

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import pytest

from alerts.addresses import Addresses
from alerts.notification import Action, Notification
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.base import Receiver, Rejected
from alerts.receivers.registry import ReceiverConfig, build_receiver
from alerts.receivers.webhook.config import WebhookConfig
from alerts.rendering.labels import labels_of
from alerts.rendering.webhook import signature
from common.errors import Unavailable
from telemetry import objects
from telemetry.incidents import Incident, IncidentState, Severity
from tests.hostile_texts import HOSTILE_TEXTS
from tests.servers.alertmanager import Alertmanager
from tests.servers.webhook import HANG, RESET, Answer, WebhookServer
from tests.unit.alerts.incident_factory import S, incident
from tests.waiting import DEADLINE_S

NOW = time.time_ns()
CONFIGS: dict[str, Callable[..., ReceiverConfig]] = {
    config.model_fields["type"].default: config for config in get_args(get_args(ReceiverConfig)[0])
}
LATER = [Answer(429), Answer(500), Answer(503), Answer(408), RESET]
REJECTED = [Answer(400), Answer(401), Answer(404), Answer(410), Answer(302, (("Location", "http://127.0.0.1:1/"),))]


def version(**changes: object) -> Incident:
    times = {"onset_ns": NOW - 60 * S, "opened_ns": NOW - 55 * S, "fired_ns": NOW - 50 * S, "updated_ns": NOW - 50 * S}
    return replace(incident(), **(times | changes))  # type: ignore[arg-type]


def notification(action: Action = Action.FIRE, sequence: int = 1, **changes: object) -> Notification:
    this = version(**changes)
    return Notification(this, action, sequence, NOW, labels_of(this, "pod1"), {})


@pytest.fixture(params=CONFIGS)
async def make(request, webhook_server):
    """Builds and starts the receiver under test."""
    started: list[Receiver] = []

    async def build(**settings: object) -> Receiver:
        settings = {"url": webhook_server.url, "timeout_s": 5.0} | settings
        receiver = build_receiver(CONFIGS[request.param](**settings), Addresses("http://me"))
        await receiver.start()
        started.append(receiver)
        return receiver

    yield build
    for receiver in started:
        await receiver.stop()


async def test_what_was_accepted_arrived_once(make, webhook_server):
    receiver = await make()
    await receiver.notify(notification(), NOW)
    assert len(webhook_server.accepted) == 1
    assert b"inc-1" in webhook_server.accepted[0].body


@pytest.mark.parametrize("answer", LATER, ids=lambda answer: str(answer.status))
async def test_trouble_that_passes_is_unavailable(make, webhook_server, answer):
    webhook_server.script.append(answer)
    receiver = await make()
    with pytest.raises(Unavailable) as error:
        await receiver.notify(notification(), NOW)
    assert error.value.after_s is None
    await receiver.notify(notification(), NOW)


@pytest.mark.parametrize("answer", REJECTED, ids=lambda answer: str(answer.status))
async def test_trouble_that_stays_is_rejected(make, webhook_server, answer):
    webhook_server.script.append(answer)
    with pytest.raises(Rejected):
        await (await make()).notify(notification(), NOW)
    assert len(webhook_server.requests) == 1, "no redirect is followed"


@pytest.mark.parametrize(("header", "wait_s"), [("7", 7.0), ("86400", 300.0), ("-3", 0.0), ("soon", None)])
async def test_retry_after_is_honoured_up_to_five_minutes(make, webhook_server, header, wait_s):
    webhook_server.script.append(Answer(429, (("Retry-After", header),)))
    with pytest.raises(Unavailable) as error:
        await (await make()).notify(notification(), NOW)
    assert error.value.after_s == wait_s


async def test_a_service_that_hangs_or_is_not_there_is_unavailable(make, webhook_server):
    webhook_server.script.append(HANG)
    with pytest.raises(Unavailable, match="no answer within"):
        await (await make(timeout_s=0.2)).notify(notification(), NOW)
    with pytest.raises(Unavailable):
        await (await make(url="http://127.0.0.1:1/")).notify(notification(), NOW)


async def test_errors_name_the_receiver_and_no_secret(make, webhook_server, tmp_path):
    token = tmp_path / "token"
    token.write_text("canary-in-token\n")
    receiver = await make(bearer_token_file=token, name="night-shift")
    for answer in (Answer(500), Answer(400), RESET, Answer(418, body=b"\x1b[31mno\r\n")):
        webhook_server.script.append(answer)
        with pytest.raises((Unavailable, Rejected)) as error:
            await receiver.notify(notification(), NOW)
        assert "night-shift" in str(error.value)
        assert "canary" not in str(error.value)
        assert not set("\x1b\r\n") & set(str(error.value))
    assert webhook_server.requests[0].headers["authorization"] == "Bearer canary-in-token"


async def test_a_secret_file_that_is_missing_or_empty_is_unavailable(make, tmp_path):
    receiver = await make(bearer_token_file=tmp_path / "token")
    with pytest.raises(Unavailable, match="secret file"):
        await receiver.notify(notification(), NOW)
    (tmp_path / "token").write_text("\n")
    with pytest.raises(Unavailable, match="is empty"):
        await receiver.notify(notification(), NOW)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
async def test_stop_is_safe_before_start_and_twice(config):
    receiver = build_receiver(config(url="http://127.0.0.1:1"), Addresses())
    await receiver.stop()
    await receiver.start()
    await receiver.stop()
    await receiver.stop()


# --- each against the real thing ---------------------------------------------------------------------------------


@pytest.fixture
async def to_alertmanager(alertmanager: Alertmanager):
    receiver = build_receiver(AlertmanagerConfig(url=alertmanager.url + "/"), Addresses("http://me:8080"))
    await receiver.start()
    yield receiver
    await receiver.stop()


async def test_alertmanager_shows_one_alert_an_incident_however_often_it_is_sent(to_alertmanager, alertmanager):
    for _ in range(3):
        await to_alertmanager.notify(notification(), time.time_ns())
    await to_alertmanager.refresh([notification(), notification(id="inc-2")], time.time_ns())
    shown = {alert["labels"]["incident_id"]: alert for alert in alertmanager.alerts()}
    assert sorted(shown) == ["inc-1", "inc-2"]
    assert len(alertmanager.alerts()) == 2
    assert shown["inc-1"]["labels"] == {
        "alertname": "SlowReceiver",
        "cluster": "pod1",
        "domain": "fabric",
        "incident_id": "inc-1",
        "object": "port:leaf1/Ethernet4",
        "severity": "warning",
    }
    assert shown["inc-1"]["annotations"]["action"].startswith("Drain node1")
    assert shown["inc-1"]["generatorURL"] == "http://me:8080/#incident=inc-1"
    silence = shown["inc-1"]["annotations"]["silence_url"]
    assert silence == f"{alertmanager.url}/#/silences/new?filter=%7Bincident_id%3D%22inc-1%22%7D"
    assert "inc-1" in alertmanager.amtool(
        "alert", "query", "-o", "extended", unquote(silence.partition("?filter=")[2]).strip("{}")
    )
    assert "inc-1" in alertmanager.amtool("alert", "query", "-o", "extended", "severity=warning")


async def test_alertmanager_takes_every_hostile_text_and_shows_an_alert_for_each(to_alertmanager, alertmanager):
    for number, text in enumerate(HOSTILE_TEXTS):
        root = objects.port("leaf1", text)
        hostile = notification(id=f"inc-{number}", title=text, root=root, first_symptom=text)
        await to_alertmanager.notify(hostile, time.time_ns())
    shown = {alert["labels"]["incident_id"] for alert in alertmanager.alerts()}
    assert shown == {f"inc-{number}" for number in range(len(HOSTILE_TEXTS))}


async def test_alertmanager_replaces_the_alert_when_it_gets_worse_and_drops_it_when_resolved(
    to_alertmanager, alertmanager
):
    first = notification()
    await to_alertmanager.notify(first, time.time_ns())
    worse = replace(notification(Action.UPDATE, 2, severity=Severity.CRITICAL), replaces=first.labels)
    await to_alertmanager.notify(worse, time.time_ns())
    assert [alert["labels"]["severity"] for alert in alertmanager.alerts()] == ["critical"]
    over = version(severity=Severity.CRITICAL, state=IncidentState.RESOLVED, resolved_ns=NOW)
    resolve = Notification(over, Action.RESOLVE, 3, NOW, worse.labels, {})
    await to_alertmanager.notify(resolve, time.time_ns())
    assert alertmanager.alerts() == []
    again = replace(notification(sequence=4, severity=Severity.CRITICAL))
    await to_alertmanager.notify(again, time.time_ns())
    assert len(alertmanager.alerts()) == 1


async def test_alertmanager_keeps_it_longer_than_its_own_five_minutes(to_alertmanager, alertmanager):
    await to_alertmanager.notify(notification(), time.time_ns())
    left_s = time.mktime(time.strptime(alertmanager.alerts()[0]["endsAt"][:19], "%Y-%m-%dT%H:%M:%S"))
    assert left_s - time.mktime(time.gmtime()) > 800


async def test_alertmanager_itself_notifies_once_and_then_of_the_end(tmp_path: Path, webhook_server: WebhookServer):
    server = Alertmanager(tmp_path / "am", webhook_url=webhook_server.base_url)
    server.start()
    receiver = build_receiver(AlertmanagerConfig(url=server.url), Addresses())
    await receiver.start()
    try:
        await receiver.notify(notification(), time.time_ns())
        _until(lambda: len(webhook_server.accepted) == 1)
        await receiver.refresh([notification()], time.time_ns())
        over = version(state=IncidentState.RESOLVED, resolved_ns=NOW)
        await receiver.notify(Notification(over, Action.RESOLVE, 2, NOW, notification().labels, {}), time.time_ns())
        _until(lambda: len(webhook_server.accepted) == 2)
    finally:
        await receiver.stop()
        server.kill()
    assert [json.loads(each.body)["status"] for each in webhook_server.accepted] == ["firing", "resolved"]


async def test_a_login_page_in_front_of_alertmanager_is_unavailable(webhook_server):
    receiver = build_receiver(AlertmanagerConfig(url=webhook_server.base_url), Addresses())
    await receiver.start()
    webhook_server.script.append(Answer(200, body=b"<html>log in"))
    with pytest.raises(Unavailable, match="not an Alertmanager"):
        await receiver.notify(notification(), NOW)
    await receiver.stop()


async def test_the_webhook_is_signed_and_carries_the_key_of_the_notification(webhook_server, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"s3cret\n")
    receiver = build_receiver(WebhookConfig(url=webhook_server.url, secret_file=secret), Addresses("http://me"))
    await receiver.start()
    await receiver.notify(notification(), NOW)
    secret.write_bytes(b"rotated")
    await receiver.notify(notification(), NOW + S)
    await receiver.stop()
    first, repeated = webhook_server.accepted
    assert first.path == "/hook?token=canary-in-address"
    assert first.headers["x-fabricscope-key"] == repeated.headers["x-fabricscope-key"] == "inc-1:1"
    for request, key in ((first, b"s3cret"), (repeated, b"rotated")):
        sent_s = int(request.headers["x-fabricscope-timestamp"])
        assert request.headers["x-fabricscope-signature"] == signature(key, sent_s, request.body)
    body = json.loads(first.body)
    assert (body["version"], body["status"], body["groupLabels"]) == ("4", "firing", {"incident_id": "inc-1"})
    assert body["alerts"][0]["endsAt"] == "0001-01-01T00:00:00Z"


@pytest.mark.parametrize(
    "body",
    [
        b'{"status": "error"}',
        b'{"status": "FAILED", "id": 3}',
        b'{"ok": false}',
        b'{"success": false}',
        b'{"error": {"code": 7}}',
        b'{"details": "' + b"x" * 50_000 + b'", "ok": false}',
    ],
)
async def test_a_webhook_that_says_failure_with_status_200_is_asked_again(webhook_server, body):
    receiver = build_receiver(WebhookConfig(url=webhook_server.url, name="chat"), Addresses())
    await receiver.start()
    webhook_server.script.append(Answer(200, (("Retry-After", "7"),), body))
    with pytest.raises(Unavailable, match="chat: answered 200 and a failure") as error:
        await receiver.notify(notification(), NOW)
    assert error.value.after_s == 7
    await receiver.notify(notification(), NOW)
    await receiver.stop()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"ok",
        b"<html>error",
        b'["error"]',
        b'"error"',
        b'{"ok": true, "error": null}',
        b'{"status": "success", "success": true, "error": ""}',
        b'{"status": 7}',
        b"[" * 100_000,
        b'{"ok": false, "details": "' + b"x" * 100_000 + b'"}',
    ],
)
async def test_a_webhook_that_says_nothing_else_has_accepted(webhook_server, body):
    receiver = build_receiver(WebhookConfig(url=webhook_server.url), Addresses())
    await receiver.start()
    webhook_server.script.append(Answer(200, body=body))
    await receiver.notify(notification(), NOW)
    await receiver.stop()


def _until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < deadline, "not in time"
        time.sleep(0.02)
