"""Two webhook receivers: one that Fabricscope notifies, and one behind a real Alertmanager with our alerts."""

import json
from dataclasses import dataclass

from tests.servers.webhook import WebhookServer


@dataclass
class Notified:
    """Notifications of one incident. pages: how often it began to fire. updates: notifications while it fired."""

    pages: int = 0
    updates: int = 0
    firing: bool = False


class Pagers:
    """Runs between ``with`` and its end."""

    def __init__(self) -> None:
        self.direct, self.behind_alertmanager = WebhookServer(), WebhookServer()

    def __enter__(self) -> "Pagers":
        self.direct.start()
        self.behind_alertmanager.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.direct.stop()
        self.behind_alertmanager.stop()

    def notified(self) -> dict[str, Notified]:
        """By incident, the larger number of both receivers."""
        one, other = _notified(self.direct), _notified(self.behind_alertmanager)
        return {
            key: Notified(max(a.pages, b.pages), max(a.updates, b.updates))
            for key in one.keys() | other.keys()
            for a, b in [(one.get(key, Notified()), other.get(key, Notified()))]
        }


def _notified(webhook: WebhookServer) -> dict[str, Notified]:
    """As counted by a receiver that knows only the bodies: an alert that fires already does not page again.

    Receivers drop a notification with a key that they have seen; Alertmanager's own have no key.
    """
    keyed = enumerate(list(webhook.accepted))
    bodies = {request.headers.get("x-fabricscope-key", number): request.body for number, request in keyed}
    found: dict[str, Notified] = {}
    for body in map(json.loads, bodies.values()):
        one = found.setdefault(body["groupLabels"]["incident_id"], Notified())
        if body["status"] == "firing":
            one.pages += not one.firing
            one.updates += one.firing
        one.firing = body["status"] == "firing"
    return found
