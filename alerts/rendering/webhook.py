"""A notification as the body of an Alertmanager webhook, version 4, and its signature. Pure."""

import hashlib
import hmac
from typing import Any

import orjson

from alerts.addresses import Addresses
from alerts.notification import Action, Notification
from alerts.rendering.annotations import annotations_of
from alerts.rendering.links import incident_url
from alerts.rendering.text import timestamp

_NOT_YET = "0001-01-01T00:00:00Z"  # how Alertmanager writes the end of an alert that is open


def body_of(notification: Notification, receiver: str, to: Addresses) -> bytes:
    """JSON; the same bytes for every repetition."""
    incident = notification.incident
    resolved = notification.action is Action.RESOLVE
    status = "resolved" if resolved else "firing"
    labels, annotations = dict(notification.labels), annotations_of(notification, to)
    alert: dict[str, Any] = {
        "status": status,
        "labels": labels,
        "annotations": annotations,
        "startsAt": timestamp(incident.onset_ns),
        "endsAt": timestamp(incident.resolved_ns or notification.at_ns) if resolved else _NOT_YET,
        "generatorURL": incident_url(incident, to.external_url),
        "fingerprint": hashlib.sha256(incident.id.encode()).hexdigest()[:16],
    }
    group = {"incident_id": incident.id}
    body = {
        "version": "4",
        "groupKey": f'{{}}:{{incident_id="{incident.id}"}}',
        "truncatedAlerts": 0,
        "status": status,
        "receiver": receiver,
        "groupLabels": group,
        "commonLabels": labels,
        "commonAnnotations": annotations,
        "externalURL": to.external_url,
        "alerts": [alert],
    }
    return orjson.dumps(body)


def signature(secret: bytes, timestamp_s: int, body: bytes) -> str:
    """``v1=`` and the HMAC-SHA256 of the timestamp, a dot and the body, in hexadecimal."""
    return "v1=" + hmac.new(secret, b"%d." % timestamp_s + body, hashlib.sha256).hexdigest()
