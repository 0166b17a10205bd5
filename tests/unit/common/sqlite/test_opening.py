"""Whatever is on the disk: what is opened is sound, what can be read is in it, and what could not is said."""

import shutil
import sqlite3
from pathlib import Path

import pytest

from common.sqlite import replacement
from common.sqlite.layout import Layout, Rows, Salvaged
from common.sqlite.opening import Damage, Durability, open_sound
from common.sqlite.tables import Row, Table
from tests.unit.common.sqlite.things import THINGS, convert, overwrite

OTHERS = Table("others", {"number": "INTEGER", "value": "BLOB"}, key=("number",))
LAYOUT = Layout((THINGS, OTHERS), 2, "CREATE INDEX by_value ON others (value);", convert)
PAGE = 4096
ROWS = 400
ROWS_OF_PAGE = 10  # at least, of 300 bytes each


def opened(file: Path, layout: Layout = LAYOUT) -> tuple[sqlite3.Connection, Damage | None]:
    return open_sound(file, layout, Durability.NO_FSYNC, "x.folder")


@pytest.fixture
def file(tmp_path):
    """A file with many pages."""
    path = tmp_path / "things.sqlite"
    database, damage = opened(path)
    assert damage is None
    with database:
        THINGS.put(database, [(f"{number:04}", b"x" * 300) for number in range(ROWS)])
        OTHERS.put(database, [(number, b"%d" % number) for number in range(ROWS)])
    database.close()
    return path


def read(file: Path, layout: Layout = LAYOUT) -> tuple[list[Row], list[Row], Damage | None]:
    """All things, all others and the damage."""
    database, damage = opened(file, layout)
    found = list(THINGS.find(database, "ORDER BY name")), list(OTHERS.find(database, "ORDER BY number"))
    assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    database.close()
    return *found, damage


def root_of(file: Path, name: str) -> int:
    """Where its tree begins, in bytes."""
    database = sqlite3.connect(file)
    (page,) = database.execute("SELECT rootpage FROM sqlite_schema WHERE name = ?", (name,)).fetchone()
    database.close()
    return int(page - 1) * PAGE


def write_at(file: Path, place: int, content: bytes) -> None:
    with file.open("r+b") as opened_file:
        opened_file.seek(place)
        opened_file.write(content)


def leaf_of(file: Path, content: bytes) -> int:
    """A page that holds this and no more than rows."""
    return file.read_bytes().index(content) // PAGE * PAGE


def test_a_damaged_page_costs_its_own_rows(file):
    write_at(file, leaf_of(file, b"0200" + b"x" * 300), b"\xff" * PAGE)
    things, others, damage = read(file)
    assert ROWS - 3 * ROWS_OF_PAGE < len(things) < ROWS
    assert len(others) == ROWS
    assert damage is not None
    assert "malformed" in damage.reasons[0]


@pytest.mark.parametrize("content", [b"\0" * PAGE, b"\xff" * PAGE, b"no database", b"SQLite format 4\0"])
def test_the_first_page_costs_nothing(file, content):
    write_at(file, 0, content)
    things, others, damage = read(file)
    assert (len(things), len(others)) == (ROWS, ROWS)
    assert damage is not None
    assert damage.rows == {}


@pytest.mark.parametrize("name", ["sqlite_autoindex_things_1", "by_value"])
def test_an_index_costs_nothing(file, name):
    write_at(file, root_of(file, name), b"\0" * PAGE)
    things, others, damage = read(file)
    assert (len(things), len(others)) == (ROWS, ROWS)
    assert damage is not None


def test_a_root_costs_its_table_alone(file):
    write_at(file, root_of(file, "things"), b"\0" * PAGE)
    things, others, damage = read(file)
    assert (things, len(others)) == ([], ROWS)
    assert damage is not None


def test_a_file_that_was_cut_keeps_its_beginning(file):
    with file.open("r+b") as opened_file:
        opened_file.truncate(file.stat().st_size // 2)
    things, others, damage = read(file)
    assert len(things) + len(others) > ROWS // 4
    assert damage is not None


def test_what_is_missing_is_known_to_who_repairs(file):
    found: list[Salvaged] = []

    def repair(salvaged: Salvaged, now_ns: int) -> Rows:
        found.append(salvaged)
        return {**salvaged.rows, "others": [(7, b"repaired")]}

    overwrite(file, "UPDATE things SET value = 'y' WHERE name = '0007'")
    things, others, damage = read(file, Layout((THINGS, OTHERS), 2, LAYOUT.indices, convert, repair))
    assert (len(things), others) == (ROWS - 1, [(7, b"repaired")])
    assert damage is not None
    assert (damage.file, damage.rows) == ("things.sqlite", {"things": 1})
    assert damage.reasons == ("things: the checksum of row 0007 does not fit",)
    assert found[0].whole == {"others"}


def test_the_damaged_file_is_kept_with_the_reason(file):
    overwrite(file, "UPDATE things SET value = 'y' WHERE name = '0007'")
    before = file.read_bytes()
    _, _, damage = read(file)
    assert damage is not None
    assert damage.reason.with_suffix("").read_bytes() == before
    assert "things: the checksum of row 0007 does not fit" in damage.reason.read_text()
    assert read(file)[2] is None, "once"


def test_of_many_damaged_files_the_newest_are_kept(file):
    names = []
    for _ in range(replacement.KEPT_MAX + 2):
        overwrite(file, "UPDATE others SET value = 'y' WHERE number = (SELECT min(number) FROM others)")
        damage = read(file)[2]
        assert damage is not None
        names.append(damage.reason.name)
    kept = sorted(each.name for each in file.parent.glob("*.damaged-*"))
    assert kept == sorted(each for name in names[2:] for each in (name, name.removesuffix(".txt")))


def test_a_row_of_an_earlier_version_that_cannot_be_read_is_said(tmp_path):
    path = tmp_path / "things.sqlite"
    with sqlite3.connect(path) as old:
        old.execute("CREATE TABLE things (name TEXT)")
        old.executemany("INSERT INTO things VALUES (CAST(? AS TEXT))", [(b"good",), (b"\xff\xfe",)])
    old.close()
    things, others, damage = read(path)
    assert (things, others) == ([("good", b"new")], [])
    assert damage is not None
    assert damage.rows == {"things": 1}


def test_a_replacement_that_a_crash_cut_off_is_ended_or_begun_again(file):
    whole, part = file.read_bytes(), file.with_name("things.sqlite.part")
    part.write_bytes(whole[:5000])
    assert len(read(file)[0]) == ROWS, "the old file is there, so the new one may not be complete"
    LAYOUT.write(part, {"things": [("new", b"1")], "others": []})
    file.unlink()
    file.with_name("things.sqlite-wal").write_bytes(b"of the old file" * 1000)
    assert read(file)[:2] == ([("new", b"1")], [])


def test_a_write_that_a_crash_cut_off_is_no_damage(file, tmp_path):
    database, _ = opened(file)
    for name in ("one", "two"):
        with database:
            THINGS.put(database, [(name, b"1")])
    copy = tmp_path / "killed.sqlite"
    shutil.copy(file, copy)
    log = file.with_name("things.sqlite-wal").read_bytes()
    copy.with_name("killed.sqlite-wal").write_bytes(log[: -PAGE // 2])
    database.close()
    things, _, damage = read(copy)
    assert ({row[0] for row in things} & {"one", "two"}, damage) == ({"one"}, None)


@pytest.mark.parametrize("place", [20, 32 + 24 + 100])
def test_a_log_that_is_cut_off_by_damage_is_said(file, tmp_path, place):
    database, _ = opened(file)
    for name in ("one", "two", "three"):
        with database:
            THINGS.put(database, [(name, b"1")])
    copy = tmp_path / "killed.sqlite"
    shutil.copy(file, copy)
    log = bytearray(file.with_name("things.sqlite-wal").read_bytes())
    database.close()
    log[place] ^= 1
    copy.with_name("killed.sqlite-wal").write_bytes(log)
    things, _, damage = read(copy)
    assert len(things) == ROWS
    assert damage is not None
    assert "write-ahead log" in damage.reasons[0]
    assert damage.reason.with_name(damage.reason.stem + "-wal").read_bytes() == log


def test_what_the_machine_refuses_is_no_damage(tmp_path):
    (tmp_path / "things.sqlite").mkdir()
    with pytest.raises(sqlite3.OperationalError, match="unable to open"):
        opened(tmp_path / "things.sqlite")
