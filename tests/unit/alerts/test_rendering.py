import json
import unicodedata

import pytest

from alerts.addresses import Addresses
from alerts.notification import Action, Notification, decode_notification, encode_notification
from alerts.rendering.alertmanager import alerts_of
from alerts.rendering.annotations import annotations_of
from alerts.rendering.labels import labels_of
from alerts.rendering.text import clean
from alerts.rendering.webhook import body_of, signature
from telemetry import objects
from telemetry.incidents import BlastRadius, IncidentKind
from tests.hostile_texts import FIVE_MEGABYTES, HOSTILE_TEXTS
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

TO = Addresses("http://me", "http://grafana", "", "http://am")
HOSTILE = [*HOSTILE_TEXTS, "x" * 5_000_000, FIVE_MEGABYTES]
_INVISIBLE = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def notification_of(text: str) -> Notification:
    version = incident(
        title=text,
        root=objects.port("leaf1", text),
        first_symptom=text,
        action=text,
        blast=BlastRadius(jobs=tuple(f"{text[:50]}{n}" for n in range(10_000))),
        gaps=(text,) * 100,
    )
    return Notification(version, Action.FIRE, 1, T0, labels_of(version, "pod1"), {})


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_harmless_and_short_in_every_sink(text):
    encoded = body_of(notification_of(text), "hook", TO)
    body = json.loads(encoded)
    alert = alerts_of(notification_of(text), T0 + S, S, TO)[0]
    for texts in (body["alerts"][0], alert):
        for value in (*texts["labels"].values(), *texts["annotations"].values()):
            assert not set("<>") & set(value)
            assert not _INVISIBLE & set(map(unicodedata.category, value))
            assert len(value) <= 1024
        assert len(texts["annotations"]["title"]) <= 140
        assert len(texts["labels"]["object"]) <= 255
    assert len(encoded) < 64_000


def test_a_notification_survives_its_own_encoding():
    notification = Notification(
        incident(), Action.UPDATE, 2, T0, labels_of(incident(), "pod1"), {"severity": "info"}, 3
    )
    assert decode_notification(encode_notification(notification)) == notification


def test_every_kind_has_a_domain():
    assert {labels_of(incident(kind=kind), "c")["domain"] for kind in IncidentKind} == {
        "fabric", "device", "power", "gpu", "storage", "capacity", "telemetry", "unknown",
    }  # fmt: skip


def test_the_page_answers_what_the_on_call_asks_first():
    annotations = annotations_of(notification_of("slow receiver"), TO)
    asked = {"title", "summary", "blast_radius", "since", "first_symptom", "evidence_1", "evidence_2", "action",
             "runbook", "alternatives", "gaps", "suppressed", "confidence",
             "incident_url", "dashboard_url", "runbook_url", "silence_url"}  # fmt: skip
    assert asked <= set(annotations)
    assert annotations["evidence_1"].endswith("81,234 frames/s (normal 3 frames/s)")
    assert annotations["evidence_2"].endswith("(no normal learned yet)")


def test_a_clock_behind_the_telemetry_never_ends_an_alert_before_it_began():
    notification = Notification(resolved(60), Action.RESOLVE, 2, T0, {"a": "b"}, {})
    alert = alerts_of(notification, T0 - 3600 * S, S, Addresses())[0]
    assert alert["endsAt"] > alert["startsAt"]


def test_repetitions_have_the_same_body_and_the_signature_covers_time_and_body():
    assert body_of(notification_of("x"), "hook", TO) == body_of(notification_of("x"), "hook", TO)
    assert signature(b"key", 1, b"body") == signature(b"key", 1, b"body")
    assert len({signature(b"key", 1, b"body"), signature(b"key", 2, b"body"), signature(b"kez", 1, b"body")}) == 3


def test_cutting_is_visible():
    assert clean("abcdef", 4) == "abc…"
