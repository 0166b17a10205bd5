"""One process, one version, and offsets that survive."""

from pathlib import Path

import pytest

from bus import offsets_table
from common.errors import ConfigError
from common.sqlite import Durability, LockedDatabase

TABLE = offsets_table.SCHEMA + "CREATE TABLE IF NOT EXISTS things (name TEXT);"


def database(folder: Path, version: int = 1) -> LockedDatabase:
    file, lock = folder / "things.sqlite", folder / "lock"
    return LockedDatabase(file, lock, "x.folder", schema=TABLE, version=version, durability=Durability.EVERY_COMMIT)


def test_offsets_and_the_schema_are_there_after_reopening(tmp_path):
    first = database(tmp_path / "new")
    first.close()  # before it was opened: nothing happens
    first.open()
    with first.connection as connection:
        connection.execute("INSERT INTO things VALUES ('a')")
        offsets_table.write_offsets(connection, {("t", 0): 7, ("t", 1): 9})
    first.close()
    second = database(tmp_path / "new", version=2)
    second.open()
    assert offsets_table.read_offsets(second.connection) == {("t", 0): 7, ("t", 1): 9}
    assert second.connection.execute("SELECT name FROM things").fetchall() == [("a",)]
    second.close()


def test_one_holder_at_a_time_and_no_newer_version(tmp_path):
    holder, other = database(tmp_path, version=3), database(tmp_path)
    holder.open()
    with pytest.raises(ConfigError, match=r"x\.folder .*: another process"):
        other.open()
    holder.close()
    for _ in range(2):  # a refusal lets go of the lock
        with pytest.raises(ConfigError, match=r"x\.folder .*: written by a newer version \(3\)"):
            other.open()


@pytest.mark.parametrize(("durability", "level"), [(Durability.EVERY_COMMIT, 2), (Durability.NO_FSYNC, 1)])
def test_durability_is_sqlites(tmp_path, durability, level):
    opened = LockedDatabase(tmp_path / "a", tmp_path / "b", "x", schema="", version=1, durability=durability)
    opened.open()
    assert opened.connection.execute("PRAGMA synchronous").fetchone() == (level,)
    opened.close()
