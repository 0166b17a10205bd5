import sqlite3
from dataclasses import replace

import orjson
import pytest

from alerts.clock import Moment
from alerts.decision.lifecycle import NotifiedState
from alerts.decision.table import Tracked
from alerts.notification import Action, Notification, encode_notification
from alerts.outbox import Delivery, Outbox
from alerts.outbox_layout import LAYOUT, SCHEMA_VERSION, delivery_row
from bus.owner.epochs_table import EPOCHS as EPOCHS_TABLE
from bus.owner.fence import RoleInPartition
from common.errors import ConfigError
from common.sqlite.tables import Row, Table
from telemetry.incidents import IncidentKind, Severity
from tests.unit.alerts.incident_factory import T0, incident

OFFSETS = {("fabricscope.incidents.v1", 0): 7}
EPOCHS = {RoleInPartition("fabricscope.incidents.v1", 0, "analytics"): 7}
NOTIFIED = NotifiedState(
    True, 1, T0, T0, incident().severity, incident().kind, incident().root, {"severity": "warning"}, ("am",)
)


NOW = Moment(T0, T0 + 1)


def note(
    action: Action = Action.FIRE,
    sequence: int = 1,
    incident_id: str = "inc-1",
    severity: Severity = Severity.WARNING,
) -> Notification:
    return Notification(incident(id=incident_id, severity=severity), action, sequence, T0, {"a": "b"}, {})


def critical(incident_id: str) -> Notification:
    return note(incident_id=incident_id, severity=Severity.CRITICAL)


@pytest.fixture
def outbox(tmp_path):
    opened = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    opened.open()
    yield opened
    opened.close()


def commit(outbox: Outbox, *pairs: tuple[str, Notification], fallback: str = "") -> list[tuple[str, str, str]]:
    """What was dropped: receiver, key, reason."""
    outbox.commit(OFFSETS, EPOCHS, {}, pairs, fallback, NOW)
    return [(each.receiver, each.notification.key, each.reason) for each in outbox.pop_dropped()]


def keys(deliveries: list[Delivery]) -> list[str]:
    return [each.notification.key for each in deliveries]


def test_a_round_is_durable_as_a_whole(outbox, tmp_path):
    known = {"inc-1": Tracked(5, incident(), None), "inc-2": Tracked(6, None, None)}
    outbox.commit(OFFSETS, EPOCHS, known, [("am", note())], "", NOW)
    outbox.close()
    again = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    again.open()
    assert (again.offsets(), again.tracked(), again.pending()) == (OFFSETS, known, {"am": 1})
    assert again.epochs() == EPOCHS
    assert again.heads("am", ())[0].notification == note()
    assert again.moment() == NOW
    again.close()


def test_a_round_that_fails_leaves_nothing_behind(outbox):
    broken: list[tuple[str, Notification]] = [("am", note()), ("am", None)]  # type: ignore[list-item]
    with pytest.raises(AttributeError):
        outbox.commit(OFFSETS, EPOCHS, {}, broken, "", NOW)
    assert (outbox.offsets(), outbox.epochs(), outbox.pending()) == ({}, {}, {})


def test_deliveries_of_an_incident_keep_their_order_and_do_not_hold_up_others(outbox):
    commit(outbox, ("am", note()), ("am", note(Action.RESOLVE, 2)), ("am", note(incident_id="inc-2")))
    first, other = outbox.heads("am", ())
    assert keys([first, other]) == ["inc-1:1", "inc-2:1"]
    assert keys(outbox.heads("am", [first.id])) == ["inc-2:1"]
    outbox.delivered(first, "", T0)
    assert keys(outbox.heads("am", ())) == ["inc-1:2", "inc-2:1"]


def test_what_the_receiver_shows_is_known(outbox):
    commit(outbox, ("am", note()))
    assert not outbox.is_open("am", "inc-1")
    outbox.delivered(outbox.heads("am", ())[0], "", T0)
    assert outbox.is_open("am", "inc-1")
    assert outbox.open_alerts("am") == [note()]
    commit(outbox, ("am", note(Action.RESOLVE, 2)))
    assert outbox.open_alerts("am") == [], "a repetition must not overtake the resolve"
    outbox.delivered(outbox.heads("am", ())[0], "", T0)
    assert not outbox.is_open("am", "inc-1")


def test_a_full_queue_overflows_into_the_fallback_and_then_says_so(outbox):
    pairs = [("am", note(incident_id=f"inc-{n}")) for n in range(7)]
    dropped = commit(outbox, *pairs, fallback="hook")
    assert outbox.pending() == {"am": 3, "hook": 3}
    assert dropped == [("hook", "inc-6:1", "queue_full")]
    assert outbox.pop_dropped() == []


def test_a_part_of_the_queue_is_for_critical_notifications(tmp_path):
    outbox = Outbox(tmp_path, reserve_bytes=0, queue_max=10)
    outbox.open()
    dropped = commit(outbox, *[("am", note(incident_id=f"inc-{n}")) for n in range(10)])
    assert dropped == [("am", "inc-9:1", "queue_full")]
    assert commit(outbox, ("am", critical("bad"))) == []
    assert outbox.pending() == {"am": 10}
    outbox.close()


def test_a_critical_one_takes_the_place_of_the_newest_of_the_least_important(outbox):
    commit(outbox, *[("am", note(incident_id=f"inc-{n}")) for n in range(3)])
    assert commit(outbox, ("am", critical("bad-0"))) == [("am", "inc-2:1", "evicted")]
    assert commit(outbox, ("am", critical("bad-1")), fallback="hook") == []
    assert keys(outbox.heads("hook", ())) == ["inc-1:1"], "the fallback has room for what left"
    commit(outbox, ("am", critical("bad-2")))
    assert commit(outbox, ("am", critical("bad-3"))) == [("am", "bad-3:1", "queue_full")]
    assert keys(outbox.heads("am", ())) == ["bad-0:1", "bad-1:1", "bad-2:1"]


def test_a_full_queue_takes_every_end_and_gives_none_up(outbox):
    commit(outbox, *[("am", note(incident_id=f"inc-{n}")) for n in range(3)])
    ends = [("am", note(Action.RESOLVE, 2, f"inc-{n}")) for n in range(3)]
    assert commit(outbox, *ends) == []
    commit(outbox, *[("am", critical(f"bad-{n}")) for n in range(4)])
    left = [each.notification for each in outbox.heads("am", ())]
    assert [each.key for each in left if each.action is Action.RESOLVE] == ["inc-0:2", "inc-1:2", "inc-2:2"]


def test_that_something_was_dropped_always_has_room(outbox):
    commit(outbox, *[("am", critical(f"bad-{n}")) for n in range(3)])
    own = incident(id="own", severity=Severity.CRITICAL, kind=IncidentKind.ALERTS_OVERLOADED)
    assert commit(outbox, ("am", Notification(own, Action.FIRE, 1, T0, {}, {}))) == []


def test_a_round_that_fails_reports_no_drop(outbox):
    commit(outbox, *[("am", note(incident_id=f"inc-{n}")) for n in range(3)])
    broken: list[tuple[str, Notification]] = [("am", note(incident_id="inc-3")), ("am", None)]  # type: ignore[list-item]
    with pytest.raises(AttributeError):
        outbox.commit(OFFSETS, EPOCHS, {}, broken, "", NOW)
    assert commit(outbox) == []


def test_what_finds_no_room_in_the_fallback_is_reported(outbox):
    commit(outbox, *[("hook", critical(f"inc-{n}")) for n in range(3)], ("am", note()))
    assert not outbox.reroute(outbox.heads("am", ())[0], "hook", T0)
    assert [each.notification.key for each in outbox.pop_dropped()] == ["inc-1:1"]


def test_critical_deliveries_come_first_and_keep_the_order_of_their_incident(outbox):
    worse = note(Action.UPDATE, 2, "inc-1", Severity.CRITICAL)
    commit(outbox, ("am", note(incident_id="inc-0")), ("am", note(incident_id="inc-1")), ("am", worse))
    assert keys(outbox.heads("am", ())) == ["inc-1:1", "inc-0:1"]
    assert keys(outbox.heads("am", (), 1)) == ["inc-1:1"]
    outbox.delivered(outbox.heads("am", ())[0], "", T0)
    assert keys(outbox.heads("am", ())) == ["inc-1:2", "inc-0:1"]


def test_the_end_follows_to_a_fallback_that_was_notified_in_between(outbox):
    commit(outbox, ("am", note()), ("am", note(Action.UPDATE, 2)), ("am", note(Action.RESOLVE, 3)))
    outbox.delivered(outbox.heads("am", ())[0], "hook", T0)
    assert outbox.reroute(outbox.heads("am", ())[0], "hook", T0 + 1)
    assert outbox.heads("hook", ())[0].created_ns == T0 + 1, "its time to live begins again"
    outbox.delivered(outbox.heads("am", ())[0], "hook", T0)
    assert outbox.pending() == {"hook": 2}


def test_what_nobody_else_accepts_is_dropped(outbox):
    commit(outbox, ("am", note()), ("hook", note()))
    assert not outbox.reroute(outbox.heads("am", ())[0], "", T0)
    assert not outbox.reroute(outbox.heads("hook", ())[0], "hook", T0)
    assert outbox.pending() == {}


def test_one_process_at_a_time(outbox, tmp_path):
    with pytest.raises(ConfigError, match=r"process \d+ on .* uses it"):
        Outbox(tmp_path, reserve_bytes=0, queue_max=3).open()


def test_a_file_of_the_first_version_is_read(tmp_path):
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        database.execute("CREATE TABLE incidents (id TEXT PRIMARY KEY, tracked BLOB)")
        value = orjson.dumps({"updated_ns": 5, "incident": incident(), "told": NOTIFIED})
        database.execute("INSERT INTO incidents VALUES ('inc-1', ?)", (value,))
        database.execute(
            "CREATE TABLE deliveries (id INTEGER PRIMARY KEY AUTOINCREMENT, receiver TEXT, incident TEXT,"
            " created_ns INTEGER, notification BLOB)"
        )
        database.execute("CREATE INDEX deliveries_of ON deliveries (receiver, incident, id)")
        for each in (note(incident_id="mild"), critical("bad")):
            row = (each.incident.id, encode_notification(each))
            database.execute("INSERT INTO deliveries VALUES (NULL, 'am', ?, 5, ?)", row)
        database.execute("PRAGMA user_version = 1")
    outbox = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    outbox.open()
    assert outbox.tracked() == {"inc-1": Tracked(5, incident(), NOTIFIED)}
    assert keys(outbox.heads("am", ())) == ["bad:1", "mild:1"]
    outbox.close()
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (SCHEMA_VERSION,), (
            "which the first version refuses"
        )


def test_a_file_from_before_owners_had_roles_goes_on_and_forgets_the_owners(tmp_path):
    epochs = Table("epochs", {"topic": "TEXT", "partition": "INTEGER", "newest": "INTEGER"}, ("topic", "partition"))
    tables = tuple(epochs if table is EPOCHS_TABLE else table for table in LAYOUT.tables)
    rows: dict[str, list[Row]] = {table.name: [] for table in tables} | {
        "offsets": [("fabricscope.incidents.v1", 0, 7)],
        "epochs": [("fabricscope.incidents.v1", 0, 6)],
        "deliveries": [delivery_row(4, "am", note(), T0)],
    }
    replace(LAYOUT, tables=tables, version=3).write(tmp_path / "outbox.sqlite", rows)
    outbox = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    outbox.open()
    assert (outbox.damage, outbox.epochs()) == (None, {})
    assert outbox.offsets() == {("fabricscope.incidents.v1", 0): 7}
    assert keys(outbox.heads("am", ())) == ["inc-1:1"]
    outbox.close()


def test_a_newer_version_s_file_is_refused(tmp_path):
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        database.execute("PRAGMA user_version = 99")
    with pytest.raises(ConfigError, match="newer version"):
        Outbox(tmp_path, reserve_bytes=0, queue_max=3).open()


def test_a_full_disk_costs_the_reserve_and_never_half_a_round(tmp_path):
    outbox = Outbox(tmp_path, reserve_bytes=1 << 20, queue_max=10**6)
    outbox.open()
    assert (tmp_path / "reserve").stat().st_size == 1 << 20
    outbox._db.execute("PRAGMA max_page_count = 1")  # SQLite takes the present size: not one page more
    many = [("am", note(incident_id=f"inc-{n}")) for n in range(100)]
    with pytest.raises(sqlite3.OperationalError, match="full"):
        commit(outbox, *many)
    assert not (tmp_path / "reserve").exists()
    assert (outbox.offsets(), outbox.epochs(), outbox.pending()) == ({}, {}, {})
    outbox._db.execute("PRAGMA max_page_count = 100000")
    commit(outbox, *many)
    assert outbox.pending() == {"am": 100}
    outbox.close()
