"""What receivers are sent, field by field."""

import hashlib
import hmac
import json
from dataclasses import replace

import pytest

from alerts.addresses import Addresses
from alerts.notification import Action, Notification
from alerts.rendering.alertmanager import alerts_of
from alerts.rendering.annotations import annotations_of
from alerts.rendering.labels import labels_of
from alerts.rendering.text import (
    alternatives,
    blast_radius,
    clean,
    evidence_line,
    names_shown,
    since,
    timestamp,
    verdict,
)
from alerts.rendering.webhook import body_of, signature
from telemetry.findings import Evidence
from telemetry.incidents import BlastRadius, Hypothesis, IncidentKind, ObjectRecord, Severity
from telemetry.objects import gpu
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

ONSET = "2026-05-28T20:26:40.000000+00:00"  # T0 = 1,780,000,000 s
NOWHERE = Addresses()
LABELS = labels_of(incident(), "pod1")
FIRE = Notification(incident(), Action.FIRE, 1, T0 + 12 * S, LABELS, {})
RESOLVE = Notification(resolved(60), Action.RESOLVE, 2, T0 + 62 * S, LABELS, {})


@pytest.mark.parametrize(
    ("time_ns", "expected"),
    [
        (0, "1970-01-01T00:00:00.000000+00:00"),
        (T0, ONSET),
        (T0 + 1_234_567, "2026-05-28T20:26:40.001234+00:00"),
        (-1, "1969-12-31T23:59:59.999999+00:00"),
    ],
)
def test_times_for_machines_have_whole_microseconds_and_never_a_later_one(time_ns, expected):
    assert timestamp(time_ns) == expected


def test_times_for_people_are_in_utc():
    assert since(incident()) == "2026-05-28 20:26:40 UTC"


@pytest.mark.parametrize(
    ("blast", "expected"),
    [
        (BlastRadius(), "nothing else so far"),
        (BlastRadius(links=("a",)), "1 link"),
        (BlastRadius(links=("a", "b"), nodes=("n",), gpus=("g",) * 8), "2 links, 1 node, 8 GPUs"),
        (BlastRadius(jobs=("4711", "4712")), "2 jobs (4711, 4712)"),
        (BlastRadius(jobs=tuple("abcdefg")), "7 jobs (a, b, c, d, e and 2 more)"),
    ],
)
def test_the_blast_radius_in_words(blast, expected):
    assert blast_radius(blast) == expected


@pytest.mark.parametrize(
    ("names", "expected"),
    [((), ""), (("a",), "a"), (tuple("abcde"), "a, b, c, d, e"), (tuple("abcdef"), "a, b, c, d, e and 1 more")],
)
def test_of_many_names_the_first_five_are_shown(names, expected):
    assert names_shown(names) == expected


@pytest.mark.parametrize(
    ("value", "normal", "expected"),
    [
        (81234.5, 3.0, "s: 81,234 frames/s (normal 3 frames/s)"),
        (0.0, 0.25, "s: 0 frames/s (normal 0.25 frames/s)"),
        (7.0, None, "s: 7 frames/s (no normal learned yet)"),
    ],
)
def test_evidence_is_one_value_against_its_normal(value, normal, expected):
    assert evidence_line(Evidence("s", value, normal, "frames/s")) == expected


def test_other_causes_come_with_their_reason():
    assert alternatives(incident()) == "incast at leaf1/Ethernet4 (20%: only one sender)"
    assert alternatives(incident(alternatives=())) == "none"


def test_a_page_has_the_record_of_its_root_in_one_line():
    record = ObjectRecord(incident().root, 1, (), {}, 3.0, "3rd flap in 24 h")
    assert annotations_of(replace(FIRE, incident=incident(record=record)), NOWHERE)["record"] == "3rd flap in 24 h"


def test_a_page_says_how_often_an_intermittent_fault_has_come():
    record = ObjectRecord(incident().root, 1, (), {}, 3.0, "3rd flap in 24 h")
    again = annotations_of(replace(FIRE, incident=incident(record=record, occurrences=3)), NOWHERE)
    assert again["record"] == "this incident has come 3 times; 3rd flap in 24 h"
    alone = annotations_of(replace(FIRE, incident=incident(occurrences=2)), NOWHERE)
    assert alone["record"] == "this incident has come 2 times"


def test_other_causes_are_called_as_people_call_them():
    other = Hypothesis(IncidentKind.GPU_FAULT, gpu("node1", "GPU-1"), 0.1, "it vanished")
    assert alternatives(incident(alternatives=(other,))) == "GPU fault at node1/GPU-1 (10%: it vanished)"


def test_a_verdict_is_one_sentence_of_the_reason_the_next_two_and_what_is_not_known():
    known = {
        "because": ("it pauses", "more"),
        "against": ("not a: x", "not b: y", "not c: z"),
        "missing": ("who", "when"),
    }
    assert verdict(incident(**known)) == "because it pauses; not a: x; not b: y; not known: who"
    assert annotations_of(replace(FIRE, incident=incident(**known)), NOWHERE)["verdict"] == verdict(incident(**known))
    assert verdict(incident()) == ""
    assert "record" not in annotations_of(FIRE, NOWHERE)
    assert "verdict" not in annotations_of(FIRE, NOWHERE)


@pytest.mark.parametrize(
    ("text", "chars_max", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("  a \t b\r\nc ", 99, "a b c"),
        ("<b>&amp;", 99, "‹b›&amp;"),
        ("a\u2028b\u0000c", 99, "a b c"),
        ("left\u202eright\u200b", 99, "leftright"),
        ("\ud800\ue000x", 99, "x"),
        ("", 99, ""),
    ],
)
def test_text_is_one_harmless_line(text, chars_max, expected):
    assert clean(text, chars_max) == expected


def test_an_alert_has_six_labels():
    assert LABELS == {
        "alertname": "SlowReceiver",
        "cluster": "pod1",
        "domain": "fabric",
        "incident_id": "inc-1",
        "object": "port:leaf1/Ethernet4",
        "severity": "warning",
    }
    other = incident(kind=IncidentKind.GPU_FAULT, severity=Severity.CRITICAL)
    assert (labels_of(other, "c")["alertname"], labels_of(other, "c")["severity"]) == ("GpuFault", "critical")


def test_annotations_answer_the_questions_of_the_on_call():
    assert annotations_of(FIRE, NOWHERE) == {
        "title": "[WARN] pod1: slow receiver behind leaf1:Ethernet4, 8 GPUs, 1 job stalled",
        "summary": "[WARN] pod1: slow receiver behind leaf1:Ethernet4, 8 GPUs, 1 job stalled."
        " Since 2026-05-28 20:26:40 UTC. Reaches 1 node, 2 GPUs, 1 job (4711).",
        "blast_radius": "1 node, 2 GPUs, 1 job (4711)",
        "since": "2026-05-28 20:26:40 UTC",
        "first_symptom": "leaf1/Ethernet4 received 80,000 pauses a second",
        "gpu_seconds_lost": "512",
        "confidence": "90%",
        "action": "Drain node1 and check its PCIe link",
        "runbook": "docs/runbooks/slow_receiver.md",
        "alternatives": "incast at leaf1/Ethernet4 (20%: only one sender)",
        "suppressed": "2 findings explained by this incident",
        "gaps": "2 of 64 switches silent",
        "evidence_1": 'port_pfc_pause_received_frames_total{device="leaf1",port="Ethernet4"}:'
        " 81,234 frames/s (normal 3 frames/s)",
        "evidence_2": 'port_queue_bytes{device="leaf1",port="Ethernet4"}: 9.1 MB (no normal learned yet)',
    }


def test_annotations_say_what_is_uncertain_and_what_waits():
    unsure = annotations_of(replace(FIRE, incident=incident(order_known=False, gaps=()), held=3), NOWHERE)
    assert unsure["first_symptom"].endswith("(order of symptoms not certain)")
    assert unsure["held_back"] == "3 more incidents wait for the page budget"
    assert "gaps" not in unsure, "what is empty is absent"


def ends(notification: Notification, now_ns: int) -> list[tuple[str, str, str]]:
    return [
        (a["labels"]["severity"], a["startsAt"], a["endsAt"]) for a in alerts_of(notification, now_ns, 900 * S, NOWHERE)
    ]


def test_alertmanager_holds_an_open_alert_for_as_long_as_configured():
    assert ends(FIRE, T0 + 20 * S) == [("warning", ONSET, "2026-05-28T20:42:00.000000+00:00")]


def test_alertmanager_ends_the_alert_that_is_replaced_before_the_new_one():
    worse = replace(FIRE, labels=LABELS | {"severity": "critical"}, replaces=LABELS)
    assert ends(worse, T0 + 20 * S) == [
        ("warning", ONSET, "2026-05-28T20:26:52.000000+00:00"),
        ("critical", ONSET, "2026-05-28T20:42:00.000000+00:00"),
    ]


@pytest.mark.parametrize(
    ("now_s", "end"),
    [
        (70, "2026-05-28T20:27:40.000000+00:00"),  # when it was resolved
        (30, "2026-05-28T20:27:10.000000+00:00"),  # a clock behind the telemetry's: not in the future
        (-30, "2026-05-28T20:26:40.000001+00:00"),  # and never before it began
    ],
)
def test_alertmanager_is_given_the_end_of_a_resolved_incident(now_s, end):
    assert ends(RESOLVE, T0 + now_s * S) == [("warning", ONSET, end)]


def test_a_webhook_gets_the_body_of_alertmanagers_version_4():
    body = json.loads(body_of(FIRE, "chat", Addresses("http://me")))
    (alert,) = body.pop("alerts")
    annotations = body.pop("commonAnnotations")
    assert body == {
        "version": "4",
        "groupKey": '{}:{incident_id="inc-1"}',
        "truncatedAlerts": 0,
        "status": "firing",
        "receiver": "chat",
        "groupLabels": {"incident_id": "inc-1"},
        "commonLabels": LABELS,
        "externalURL": "http://me",
    }
    assert alert == {
        "status": "firing",
        "labels": LABELS,
        "annotations": annotations,
        "startsAt": ONSET,
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "http://me/#incident=inc-1",
        "fingerprint": hashlib.sha256(b"inc-1").hexdigest()[:16],
    }
    assert annotations == annotations_of(FIRE, Addresses("http://me"))


@pytest.mark.parametrize(
    ("resolved_ns", "end"),
    [(T0 + 60 * S, "2026-05-28T20:27:40.000000+00:00"), (0, "2026-05-28T20:27:42.000000+00:00")],
)
def test_a_webhook_is_given_the_end_of_a_resolved_incident(resolved_ns, end):
    over = replace(RESOLVE, incident=replace(resolved(60), resolved_ns=resolved_ns))
    body = json.loads(body_of(over, "chat", NOWHERE))
    assert (body["status"], body["alerts"][0]["status"], body["alerts"][0]["endsAt"]) == ("resolved", "resolved", end)


def test_the_signature_is_that_of_the_documentation():
    expected = hmac.new(b"key", b"1780000000." + b"body", hashlib.sha256).hexdigest()
    assert signature(b"key", 1_780_000_000, b"body") == f"v1={expected}"
