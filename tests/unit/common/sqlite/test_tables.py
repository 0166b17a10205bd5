"""A row that is not as it was written is never returned."""

import sqlite3

import pytest

from common.sqlite.tables import Damaged, Row, Table
from tests.unit.common.sqlite.things import THINGS

VALUES: list[Row] = [
    ("a", b"1"),
    ("a", "1"),
    ("a", 1),
    ("a", 1.0),
    ("a", None),
    ("a", b""),
    ("a1", b""),
    ("a", 2**63 - 1),
]


@pytest.fixture
def database():
    opened = sqlite3.connect(":memory:")
    opened.execute(THINGS.definition)
    yield opened
    opened.close()


@pytest.mark.parametrize("row", VALUES)
def test_what_was_written_is_found_and_under_its_key_replaced(database, row):
    THINGS.put(database, [row])
    assert list(THINGS.find(database, "WHERE name = ?", row[:1])) == [row]
    THINGS.put(database, [(row[0], b"other")])
    assert list(THINGS.find(database)) == [(row[0], b"other")]


def test_no_two_of_the_values_have_one_checksum(database):
    checksums = set()
    for row in VALUES:
        THINGS.put(database, [row])
        checksums.add(database.execute("SELECT checksum FROM things WHERE name = ?", row[:1]).fetchone())
    assert len(checksums) == len(VALUES)


def test_a_row_of_another_table_is_none_of_this_one(database):
    THINGS.put(database, [("a", b"1")])
    other = Table("others", THINGS.columns, THINGS.key)
    with pytest.raises(Damaged):
        other.checked(database.execute(THINGS.select).fetchone())


@pytest.mark.parametrize("change", ["name = 'b'", "value = 'x'", "value = NULL", "checksum = NULL", "checksum = 'x'"])
def test_a_changed_row_is_damaged_and_named(database, change):
    THINGS.put(database, [("a", b"x")])
    database.execute(f"UPDATE things SET {change}")
    with pytest.raises(Damaged, match=r"checksum of row [ab] does not fit"):
        list(THINGS.find(database))


def test_a_value_that_no_column_holds_is_our_own_mistake(database):
    with pytest.raises(TypeError, match="holds no list"):
        THINGS.put(database, [("a", [1])])
