import sqlite3

import orjson
import pytest

from alerts.lifecycle import NotifiedState
from alerts.notification import Action, Notification
from alerts.outbox import Delivery, Outbox
from alerts.table import Tracked
from common.errors import ConfigError
from tests.unit.alerts.incident_factory import T0, incident

OFFSETS = {("fabricscope.incidents.v1", 0): 7}
NOTIFIED = NotifiedState(
    True, 1, T0, T0, incident().severity, incident().kind, incident().root, {"severity": "warning"}, ("am",)
)


def note(action: Action = Action.FIRE, sequence: int = 1, incident_id: str = "inc-1") -> Notification:
    return Notification(incident(id=incident_id), action, sequence, T0, {"a": "b"}, {})


@pytest.fixture
def outbox(tmp_path):
    opened = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    opened.open()
    yield opened
    opened.close()


def commit(outbox: Outbox, *pairs: tuple[str, Notification], fallback: str = "") -> list[tuple[str, Notification]]:
    return outbox.commit(OFFSETS, {}, pairs, fallback, T0)


def keys(deliveries: list[Delivery]) -> list[str]:
    return [each.notification.key for each in deliveries]


def test_a_round_is_durable_as_a_whole(outbox, tmp_path):
    known = {"inc-1": Tracked(5, incident(), None), "inc-2": Tracked(6, None, None)}
    outbox.commit(OFFSETS, known, [("am", note())], "", T0)
    outbox.close()
    again = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    again.open()
    assert (again.offsets(), again.tracked(), again.pending()) == (OFFSETS, known, {"am": 1})
    assert again.heads("am", ())[0].notification == note()
    again.close()


def test_a_round_that_fails_leaves_nothing_behind(outbox):
    broken: list[tuple[str, Notification]] = [("am", note()), ("am", None)]  # type: ignore[list-item]
    with pytest.raises(AttributeError):
        outbox.commit(OFFSETS, {}, broken, "", T0)
    assert (outbox.offsets(), outbox.pending()) == ({}, {})


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
    refused = commit(outbox, *pairs, fallback="hook")
    assert outbox.pending() == {"am": 3, "hook": 3}
    assert [each.incident.id for _, each in refused] == ["inc-6"]


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
    with pytest.raises(ConfigError, match="another process"):
        Outbox(tmp_path, reserve_bytes=0, queue_max=3).open()


def test_a_file_of_the_first_version_is_read(tmp_path):
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        database.execute("CREATE TABLE incidents (id TEXT PRIMARY KEY, tracked BLOB)")
        value = orjson.dumps({"updated_ns": 5, "incident": incident(), "told": NOTIFIED})
        database.execute("INSERT INTO incidents VALUES ('inc-1', ?)", (value,))
        database.execute("PRAGMA user_version = 1")
    outbox = Outbox(tmp_path, reserve_bytes=0, queue_max=3)
    outbox.open()
    assert outbox.tracked() == {"inc-1": Tracked(5, incident(), NOTIFIED)}
    outbox.close()
    with sqlite3.connect(tmp_path / "outbox.sqlite") as database:
        assert database.execute("PRAGMA user_version").fetchone() == (2,), "which the first version refuses"


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
    assert (outbox.offsets(), outbox.pending()) == ({}, {})
    outbox._db.execute("PRAGMA max_page_count = 100000")
    commit(outbox, *many)
    assert outbox.pending() == {"am": 100}
    outbox.close()
