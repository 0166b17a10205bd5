"""A file that several processes use: what one of them sets aside disturbs no other."""

import os
import threading

import pytest

from common.sqlite.layout import Layout
from common.sqlite.opening import Durability
from common.sqlite.shared import SharedDatabase
from tests.unit.common.sqlite.things import THINGS, convert, overwrite

LAYOUT = Layout((THINGS,), 2, convert=convert)


@pytest.fixture
def make(tmp_path):
    return lambda: SharedDatabase(tmp_path / "new" / "things.sqlite", "x.folder", LAYOUT, Durability.EVERY_COMMIT)


def add(database: SharedDatabase, *names: str) -> None:
    database.use(lambda connection: THINGS.put(connection, [(name, b"1") for name in names]))


def names(database: SharedDatabase) -> list[str]:
    return database.use(lambda connection: [row[0] for row in THINGS.find(connection, "ORDER BY name")])


def test_damage_that_one_process_sets_aside_costs_the_other_nothing(make, tmp_path):
    one, other = make(), make()
    add(one, "a", "b")
    assert names(other) == ["a", "b"]
    overwrite(tmp_path / "new" / "things.sqlite", "UPDATE things SET value = 'y' WHERE name = 'a'")
    assert names(one) == ["b"]
    add(other, "c")
    add(one, "d")
    assert names(one) == names(other) == ["b", "c", "d"]
    assert [damage.rows for damage in one.pop_damage()] == [{"things": 1}]
    assert (one.pop_damage(), other.pop_damage()) == ([], [])
    assert one.problem() == other.problem() is not None


def test_damage_that_leaves_no_trace_is_found_by_the_row(make, tmp_path):
    one, file = make(), tmp_path / "new" / "things.sqlite"
    add(one, "a", "b")
    times = file.stat()
    overwrite(file, "UPDATE things SET value = 'y' WHERE name = 'a'")
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert names(one) == ["b"]


def test_threads_of_many_holders_lose_no_edit(make):
    def work(number: int) -> None:
        database = make()
        for edit in range(20):
            add(database, f"{number}-{edit}")

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(names(make())) == 80
