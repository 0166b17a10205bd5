"""Notification: what one receiver is sent about one incident."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache

import orjson
from pydantic import TypeAdapter

from telemetry.incidents import Incident
from telemetry.objects import Count


class Action(StrEnum):
    FIRE = "fire"
    UPDATE = "update"  # the page that is open changed materially: worse, or another root
    RESOLVE = "resolve"


@dataclass(frozen=True, slots=True)
class Notification:
    """What was decided as of ``at_ns``.

    sequence: 1, 2, 3, … within the incident; with the incident's id it is the key by which receivers drop repetitions.
              Damage to the outbox makes it leap, so that no key has two meanings.
    labels:   of the alert. replaces: labels of the alert that this one takes the place of; empty for none.
    held:     other incidents that wait for the page budget at this moment.
    """

    incident: Incident
    action: Action
    sequence: Count
    at_ns: Count
    labels: Mapping[str, str]
    replaces: Mapping[str, str]
    held: Count = 0

    @property
    def key(self) -> str:
        """The same for every repetition of this notification, different for any other one."""
        return f"{self.incident.id}:{self.sequence}"


def encode_notification(notification: Notification) -> bytes:
    """JSON, as the outbox keeps it."""
    return orjson.dumps(notification)


def decode_notification(value: bytes) -> Notification:
    """The reverse; pydantic's ValidationError for what is no notification."""
    return _adapter().validate_json(value)


@cache
def _adapter() -> TypeAdapter[Notification]:
    return TypeAdapter(Notification)
