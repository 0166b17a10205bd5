"""A notification as alerts of Alertmanager's v2 API. Pure."""

from collections.abc import Mapping
from typing import Any

from alerts.addresses import Addresses
from alerts.notification import Action, Notification
from alerts.rendering.annotations import annotations_of
from alerts.rendering.links import incident_url
from alerts.rendering.text import timestamp
from common.units import NS_PER_US


def alerts_of(notification: Notification, now_ns: int, hold_ns: int, to: Addresses) -> list[dict[str, Any]]:
    """The alert, and in front of it the end of the one that it replaces.

    An open alert ends ``hold_ns`` from now, unless it is sent again: Alertmanager's own 5 minutes would resolve it
    while we restart.
    """
    begin_ns = notification.incident.onset_ns
    alerts = []
    if notification.replaces:
        alerts.append(_alert(notification, notification.replaces, begin_ns, min(notification.at_ns, now_ns)))
    if notification.action is Action.RESOLVE:
        end_ns = min(notification.incident.resolved_ns or notification.at_ns, now_ns)
    else:
        end_ns = now_ns + hold_ns
    alerts.append(_alert(notification, notification.labels, begin_ns, end_ns))
    for alert in alerts:
        alert["annotations"] = annotations_of(notification, to)
        alert["generatorURL"] = incident_url(notification.incident, to.external_url)
    return alerts


def _alert(notification: Notification, labels: Mapping[str, str], begin_ns: int, end_ns: int) -> dict[str, Any]:
    # a clock that is behind the telemetry's must not put the end before the beginning: that is a 400
    end_ns = max(end_ns, begin_ns + NS_PER_US)
    return {"labels": dict(labels), "startsAt": timestamp(begin_ns), "endsAt": timestamp(end_ns)}
