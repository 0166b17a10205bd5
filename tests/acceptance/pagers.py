"""Who is paged: two webhooks, one that Fabricscope tells and one that a real Alertmanager tells of our alerts."""

import json
from dataclasses import dataclass

from tests.servers.webhook import WebhookServer


@dataclass
class Told:
    """What a receiver was told of one incident. pages: how often it began to fire. updates: news while it fired."""

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

    def told(self) -> dict[str, Told]:
        """By incident, the larger number of both."""
        one, other = _told_to(self.direct), _told_to(self.behind_alertmanager)
        return {
            key: Told(max(a.pages, b.pages), max(a.updates, b.updates))
            for key in one.keys() | other.keys()
            for a, b in [(one.get(key, Told()), other.get(key, Told()))]
        }


def _told_to(webhook: WebhookServer) -> dict[str, Told]:
    """As a receiver counts that knows nothing but the body: an alert that fires already pages nobody anew.

    A notification that is repeated under its key is one that receivers drop; Alertmanager's own have no key.
    """
    keyed = enumerate(list(webhook.accepted))
    bodies = {request.headers.get("x-fabricscope-key", number): request.body for number, request in keyed}
    told: dict[str, Told] = {}
    for body in map(json.loads, bodies.values()):
        one = told.setdefault(body["groupLabels"]["incident_id"], Told())
        if body["status"] == "firing":
            one.pages += not one.firing
            one.updates += one.firing
        one.firing = body["status"] == "firing"
    return told
