"""One process, one version, and offsets that survive."""

import sqlite3
from pathlib import Path

import pytest

from bus import offsets_table
from bus.offsets_table import OFFSETS
from common.errors import ConfigError
from common.sqlite.database import LockedDatabase
from common.sqlite.layout import Layout
from common.sqlite.opening import Durability
from tests.unit.common.sqlite.things import THINGS, convert


def database(folder: Path, version: int = 2) -> LockedDatabase:
    layout = Layout((OFFSETS, THINGS), version, convert=convert)
    return LockedDatabase(folder / "things.sqlite", folder / "lock", "x.folder", layout, Durability.EVERY_COMMIT)


def test_offsets_and_the_schema_are_there_after_reopening(tmp_path):
    first = database(tmp_path / "new")
    first.close()  # before it was opened: nothing happens
    first.open()
    with first.connection as connection:
        THINGS.put(connection, [("a", b"1")])
        offsets_table.write_offsets(connection, {("t", 0): 7, ("t", 1): 9})
    first.close()
    second = database(tmp_path / "new")
    second.open()
    assert offsets_table.read_offsets(second.connection) == {("t", 0): 7, ("t", 1): 9}
    assert list(THINGS.find(second.connection)) == [("a", b"1")]
    assert (second.damage, second.problem()) == (None, None)
    second.close()


def test_a_file_of_an_earlier_version_is_converted(tmp_path):
    with sqlite3.connect(tmp_path / "things.sqlite") as old:
        old.executescript("CREATE TABLE things (name TEXT); INSERT INTO things VALUES ('a'); PRAGMA user_version = 1")
    opened = database(tmp_path)
    opened.open()
    assert list(THINGS.find(opened.connection)) == [("a", b"new")]
    assert opened.damage is None
    opened.close()
    assert sorted(each.name for each in tmp_path.iterdir()) == ["lock", "things.sqlite"]


def test_one_holder_at_a_time_and_no_newer_version(tmp_path):
    holder, other = database(tmp_path, version=3), database(tmp_path)
    holder.open()
    with pytest.raises(ConfigError, match=r"x\.folder .*: process \d+ on .* uses it"):
        other.open()
    holder.close()
    for _ in range(2):  # a refusal lets go of the lock
        with pytest.raises(ConfigError, match=r"x\.folder .*: written by a newer version \(3\)"):
            other.open()


@pytest.mark.parametrize(("durability", "level"), [(Durability.EVERY_COMMIT, 2), (Durability.NO_FSYNC, 1)])
def test_durability_is_sqlites(tmp_path, durability, level):
    opened = LockedDatabase(tmp_path / "a", tmp_path / "b", "x", Layout((THINGS,), 1), durability)
    opened.open()
    assert opened.connection.execute("PRAGMA synchronous").fetchone() == (level,)
    opened.close()
