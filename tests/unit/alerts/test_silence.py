import random
import shutil
import sqlite3

import pytest
from pydantic import ValidationError

from alerts import silence as silence_module
from alerts.matcher import Matcher
from alerts.silence import Silence, SilenceStore
from common.errors import BadInput
from tests.unit.common.sqlite.things import flip, overwrite


def silence(silence_id: str = "one", ends_ns: int = 100) -> Silence:
    matchers = (Matcher(name="severity", value="warning"),)
    return Silence(id=silence_id, matchers=matchers, starts_ns=10, ends_ns=ends_ns, created_by="ann")


def test_it_is_there_after_a_restart_and_gone_after_its_end(tmp_path):
    store = SilenceStore(tmp_path)
    store.add(silence())
    assert SilenceStore(tmp_path).current(99) == [silence()]
    assert SilenceStore(tmp_path).current(100) == []


def test_two_processes_see_each_others_edits(tmp_path):
    one, other = SilenceStore(tmp_path), SilenceStore(tmp_path)
    one.add(silence())
    assert other.current(0) == [silence()]
    assert other.expire("one")
    assert not one.expire("one")
    assert one.current(0) == []


def test_the_number_is_bounded(tmp_path, monkeypatch):
    monkeypatch.setattr(silence_module, "SILENCES_MAX", 1)
    store = SilenceStore(tmp_path)
    store.add(silence())
    store.add(silence(ends_ns=200))
    with pytest.raises(BadInput, match="at most 1"):
        store.add(silence("two"))


@pytest.mark.parametrize(
    ("op", "value", "fits"),
    [
        ("=", "port:leaf1/Ethernet4", True),
        ("!=", "port:leaf1/Ethernet4", False),
        ("=~", "port:leaf1/.*", True),
        ("=~", "leaf1", False),
        ("!~", "port:leaf2/.*", True),
    ],
)
def test_matchers_match_whole_values(op, value, fits):
    assert Matcher(name="object", op=op, value=value).matches({"object": "port:leaf1/Ethernet4"}) is fits


@pytest.mark.parametrize("pattern", ["(a+)+", "(a*)*b", "(a|a)*", "(x{1,9}){9}", ".*.*.*.*x", "["])
def test_patterns_that_explode_or_do_not_compile_are_refused(pattern):
    with pytest.raises(ValidationError):
        Matcher(name="object", op="=~", value=pattern)


def test_a_silence_without_matchers_or_that_ends_before_it_starts_is_refused():
    with pytest.raises(ValidationError):
        Silence(id="x", matchers=(), starts_ns=0, ends_ns=1, created_by="ann")
    with pytest.raises(ValidationError, match="end after"):
        silence(ends_ns=10)


def test_a_bit_that_flips_anywhere_changes_no_silence_and_keeps_the_others(tmp_path):
    silences = [silence(f"silence-{number}") for number in range(20)]
    store = SilenceStore(tmp_path / "sound")
    for each in silences:
        store.add(each)
    silences.sort(key=lambda each: each.id)
    file = tmp_path / "damaged" / "silences.sqlite"
    chance = random.Random(45)
    bits = (tmp_path / "sound" / "silences.sqlite").stat().st_size * 8
    lost = 0
    for _ in range(100):
        shutil.rmtree(file.parent, ignore_errors=True)
        shutil.copytree(tmp_path / "sound", file.parent)
        flip(file, chance.randrange(bits))
        damaged = SilenceStore(file.parent)
        kept = damaged.current(0)
        assert [each for each in silences if each in kept] == kept
        if kept != silences:
            lost += 1
            (damage,) = damaged.pop_damage()
            assert damage.reason.exists()
            assert "silences.sqlite was damaged" in str(damaged.problem())
        damaged.add(silence("later"))
        assert len(damaged.current(0)) == len(kept) + 1
    assert lost > 0


def test_an_end_that_was_changed_expires_no_silence_silently(tmp_path):
    store = SilenceStore(tmp_path)
    store.add(silence("one"))
    store.add(silence("two"))
    overwrite(tmp_path / "silences.sqlite", "UPDATE silences SET ends_ns = 20 WHERE id = 'one'")
    assert store.current(50) == [silence("two")]
    assert [damage.rows for damage in store.pop_damage()] == [{"silences": 1}]


def test_silences_without_checksums_are_read(tmp_path):
    with sqlite3.connect(tmp_path / "silences.sqlite") as old:
        old.execute("CREATE TABLE silences (id TEXT PRIMARY KEY, ends_ns INTEGER, silence TEXT)")
        rows = [("one", 100, silence().model_dump_json()), ("two", 100, "no silence")]
        old.executemany("INSERT INTO silences VALUES (?, ?, ?)", rows)
    old.close()
    store = SilenceStore(tmp_path)
    assert store.current(0) == [silence()]
    assert [damage.rows for damage in store.pop_damage()] == [{"silences": 1}]
