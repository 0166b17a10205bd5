"""The tables of the outbox, and what becomes of them when a part of them is damaged. Pure."""

from collections.abc import Mapping
from typing import Any

import orjson
from pydantic import TypeAdapter

from alerts.clock import Moment
from alerts.decision.reconciliation import Outgoing, Sent, reconcile
from alerts.decision.table import Tracked
from alerts.notification import Action, Notification, decode_notification, encode_notification
from bus.offsets_table import OFFSETS
from bus.owner.epochs_table import EPOCHS
from common.sqlite.layout import Layout, Rows, Salvaged
from common.sqlite.tables import Row, Table
from common.units import NS_PER_S

# Before 2, what is tracked had another word for "notified"; before 3, there was neither stage time nor a checksum;
# before 4, epochs had no role.
SCHEMA_VERSION = 4
INCIDENTS = Table("incidents", {"id": "TEXT", "tracked": "BLOB"}, key=("id",))
DELIVERIES = Table(
    "deliveries",
    {
        "id": "INTEGER",
        "receiver": "TEXT",
        "incident": "TEXT",
        "created_ns": "INTEGER",
        "notification": "BLOB",
        "severity_rank": "INTEGER",
        "resolves": "INTEGER",
    },
    key=("id",),
)
DELIVERED = Table(
    "delivered",
    {"receiver": "TEXT", "incident": "TEXT", "open": "INTEGER", "notification": "BLOB"},
    key=("receiver", "incident"),
)
MOMENT = Table(
    "moment",
    {"id": "INTEGER", "stage_ns": "INTEGER", "wall_ns": "INTEGER", "sequence_min": "INTEGER"},
    key=("id",),
)
_INDICES = """
CREATE INDEX deliveries_by_incident ON deliveries (receiver, incident, id, severity_rank);
CREATE INDEX deliveries_by_severity ON deliveries (receiver, resolves, severity_rank, id);
"""
_tracked = TypeAdapter(Tracked)


def incident_row(incident_id: str, tracked: Tracked) -> Row:
    return incident_id, orjson.dumps(tracked)


def tracked_of(row: Row) -> Tracked:
    """What an incident's row says; ValueError when it is none."""
    return _tracked.validate_json(row[1])


def delivery_row(number: int, receiver: str, notification: Notification, created_ns: int) -> Row:
    """created_ns: stage time since when it waits."""
    value = encode_notification(notification)
    return number, receiver, notification.incident.id, created_ns, value, *priority_of(notification)


def delivered_row(receiver: str, is_open: bool, notification: Notification) -> Row:
    return receiver, notification.incident.id, int(is_open), encode_notification(notification)


def moment_row(now: Moment, sequence_min: int) -> Row:
    return 0, now.stage_ns, now.wall_ns, sequence_min


def priority_of(notification: Notification) -> tuple[int, int]:
    """Rank of the severity, and 1 for an end: by these a delivery leaves a full queue, and is sent."""
    return notification.incident.severity.rank, int(notification.action is Action.RESOLVE)


def _convert(table: Table, row: Mapping[str, Any]) -> Row:
    """From schema 1 or 2, which had fewer columns and "told" in what is tracked."""
    match table.name:
        case INCIDENTS.name:
            return incident_row(row["id"], _tracked.validate_json(row["tracked"]))
        case DELIVERIES.name:
            notification = decode_notification(row["notification"])
            return delivery_row(row["id"], row["receiver"], notification, row["created_ns"])
        case DELIVERED.name:
            return delivered_row(row["receiver"], bool(row["open"]), decode_notification(row["notification"]))
        case MOMENT.name:
            return moment_row(Moment(row["stage_ns"], row["wall_ns"]), 1)
        case _:
            return row["topic"], row["partition"] + 0, row["next"] + 0


def _repair(salvaged: Salvaged, now_ns: int) -> Rows:
    rows = dict(salvaged.rows)
    if not {INCIDENTS.name, DELIVERIES.name, DELIVERED.name} - salvaged.whole and rows[MOMENT.name]:
        return rows
    left = Outgoing(
        {row[0]: tracked_of(row) for row in rows[INCIDENTS.name]},
        [(row[1], decode_notification(row[4])) for row in sorted(rows[DELIVERIES.name])],
        {(row[0], row[1]): Sent(bool(row[2]), decode_notification(row[3])) for row in rows[DELIVERED.name]},
    )
    now = Moment(_newest_stage_ns(rows, left, now_ns), now_ns)
    after = reconcile(left, now)
    number = max((row[0] for row in rows[DELIVERIES.name]), default=0) + 1
    added = enumerate(after.queued[len(left.queued) :], number)
    rows[INCIDENTS.name] = [incident_row(*each) for each in after.tracked.items()]
    rows[DELIVERIES.name] = [
        *rows[DELIVERIES.name],
        *(delivery_row(number, *each, now.stage_ns) for number, each in added),
    ]
    rows[DELIVERED.name] = [
        delivered_row(receiver, sent.is_open, sent.notification) for (receiver, _), sent in after.sent.items()
    ]
    # keys that were used and are forgotten must not come again with another meaning: one a second is more than any had
    rows[MOMENT.name] = [moment_row(now, now_ns // NS_PER_S)]
    # the bus has the newest version of each incident, and those that are known change nothing
    rows[OFFSETS.name] = rows[EPOCHS.name] = []
    return rows


def _newest_stage_ns(rows: Rows, left: Outgoing, now_ns: int) -> int:
    """Stage time as far as it is known; it begins with the wall clock where nothing is left of it."""
    if rows[MOMENT.name]:
        return int(rows[MOMENT.name][0][1])
    found = [row[3] for row in rows[DELIVERIES.name]]
    for each in left.tracked.values():
        found += [each.taken_ns] + ([each.notified.changed_ns] if each.notified is not None else [])
    return max(found, default=0) or now_ns


LAYOUT = Layout(
    tables=(OFFSETS, EPOCHS, INCIDENTS, DELIVERIES, DELIVERED, MOMENT),
    version=SCHEMA_VERSION,
    indices=_INDICES,
    convert=_convert,
    repair=_repair,
)
