"""An outbox in the middle of its work, and what a stage that goes on with it delivers."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from alerts.clock import Moment
from alerts.config import AlertingConfig
from alerts.decision.dispatch import Dispatcher
from alerts.decision.rules import rules_of
from alerts.matcher import Matcher
from alerts.metrics import UndeliveredReason
from alerts.notification import Action, Notification
from alerts.outbox import Outbox
from alerts.outbox_layout import LAYOUT
from alerts.receivers.alertmanager.config import AlertmanagerConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.silence import Silence
from bus.owner.fence import RoleInPartition
from common.sqlite.tables import Row
from telemetry.incidents import Incident, Severity
from tests.unit.alerts.incident_factory import T0, S, incident, resolved

PARTITION = ("fabricscope.incidents.v1", 0)
RECEIVERS = ("am", "hook")
EACH = 2
_LAST_S = 51
_CONFIG = AlertingConfig(
    receivers=(AlertmanagerConfig(name="am", url="http://a"), WebhookConfig(name="hook", url="http://h")),
    pages_max=1000,
)
HELD = Silence(
    id="held",
    matchers=(Matcher(name="incident_id", op="=~", value="held-.*"),),
    starts_ns=0,
    ends_ns=2 * T0,
    created_by="ann",
)


@dataclass(frozen=True, slots=True)
class Page:
    """What a person sees of a notification."""

    receiver: str
    incident: str
    action: Action
    severity: Severity
    title: str
    labels: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, receiver: str, note: Notification) -> "Page":
        labels = tuple(sorted(note.labels.items()))
        return cls(receiver, note.incident.id, note.action, note.incident.severity, note.incident.title, labels)


Delivered = list[tuple[str, Page]]  # keys and pages in the order of delivery


def opened(folder: Path) -> Outbox:
    outbox = Outbox(folder, reserve_bytes=0, queue_max=1000)
    outbox.open()
    return outbox


def rows_of(outbox: Outbox) -> list[tuple[str, list[Row]]]:
    """All that it says: with the same rows a stage does the same."""
    return [(table.name, sorted(table.find(outbox._db))) for table in LAYOUT.tables]


def dispatcher_of(outbox: Outbox) -> Dispatcher:
    return Dispatcher(rules_of(_CONFIG), outbox.tracked(), outbox.sequence_min)


def decide(
    outbox: Outbox, dispatcher: Dispatcher, versions: Iterable[Incident], at_s: float, silences: Sequence[Silence] = ()
) -> None:
    """One round of the stage."""
    now = Moment(T0 + int(at_s * S), T0 + int(at_s * S))
    plan = dispatcher.plan(versions, silences, now)
    outbox.commit(
        {PARTITION: int(at_s)}, {RoleInPartition(*PARTITION, "analytics"): 1}, plan.changed, plan.notifications, "", now
    )
    dispatcher.accept(plan)


def deliver(outbox: Outbox, at_s: float, receivers: Sequence[str] = RECEIVERS) -> Delivered:
    """Works off the queues as the senders do."""
    found: Delivered = []
    for receiver in receivers:
        while heads := outbox.heads(receiver, ()):
            for each in heads:
                note = each.notification
                if note.action is Action.RESOLVE and not outbox.is_open(receiver, note.incident.id):
                    outbox.reroute(each, "", T0)
                    found.append((UndeliveredReason.NEVER_NOTIFIED, Page.of(receiver, note)))
                    continue
                outbox.delivered(each, "", T0 + int(at_s * S))
                found.append((f"{receiver} {note.key}", Page.of(receiver, note)))
    return found


def _named(kind: str) -> list[str]:
    return [f"{kind}-{number}" for number in range(EACH)]


def use(outbox: Outbox) -> Delivered:
    """Leaves incidents in every state behind, deliveries that wait, and pages that are held."""
    dispatcher = dispatcher_of(outbox)
    shown = [name for kind in ("shown", "worse", "ending", "over") for name in _named(kind)]
    fired = [*shown, *_named("held")]
    decide(outbox, dispatcher, [_version(name, 10) for name in fired], 20, [HELD])
    found = deliver(outbox, 21)
    decide(outbox, dispatcher, [_end(name, 30) for name in _named("over")], 31, [HELD])
    found += deliver(outbox, 32)
    decide(outbox, dispatcher, [_version(name, 40) for name in _named("half")], 41, [HELD])
    found += deliver(outbox, 42, RECEIVERS[:1])
    newest = [*(_version(name, 50, Severity.CRITICAL) for name in _named("worse")), *_later()]
    decide(outbox, dispatcher, newest, _LAST_S, [HELD])
    return found


def _later() -> list[Incident]:
    return [*(_end(name, 50) for name in _named("ending")), *(_version(name, 50) for name in _named("waits"))]


def on_the_bus() -> list[Incident]:
    """The newest version of each incident, as a consumer reads them that begins again."""
    return [
        *(_version(name, 10) for kind in ("shown", "held") for name in _named(kind)),
        *(_end(name, 30) for name in _named("over")),
        *(_version(name, 40) for name in _named("half")),
        *(_version(name, 50, Severity.CRITICAL) for name in _named("worse")),
        *_later(),
    ]


def go_on(outbox: Outbox) -> Delivered:
    """What is delivered by a stage that begins with this outbox, until all incidents are over."""
    outbox._db.execute("PRAGMA synchronous = OFF")  # what a power cut would take is not the question
    dispatcher = dispatcher_of(outbox)
    decide(outbox, dispatcher, [] if outbox.offsets() == {PARTITION: _LAST_S} else on_the_bus(), 60)
    found = deliver(outbox, 61)
    worse = [_version(name, 70, Severity.CRITICAL) for name in _named("shown")]
    decide(outbox, dispatcher, [*worse, _version("new", 70)], 71)
    found += deliver(outbox, 72)
    names = {each.id for each in on_the_bus()} | {"new"}
    decide(outbox, dispatcher, [_end(name, 80) for name in sorted(names)], 81)
    return found + deliver(outbox, 82)


def _version(name: str, at_s: float, severity: Severity = Severity.WARNING) -> Incident:
    return incident(id=name, at_s=at_s, severity=severity, title=f"{name} is slow, {severity}")


def _end(name: str, at_s: float) -> Incident:
    return resolved(at_s, id=name, title=f"{name} is over")
