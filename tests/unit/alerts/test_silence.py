import pytest
from pydantic import ValidationError

from alerts import silence as silence_module
from alerts.matcher import Matcher
from alerts.silence import Silence, SilenceStore
from common.errors import BadInput


def silence(silence_id: str = "one", ends_ns: int = 100) -> Silence:
    matchers = (Matcher(name="severity", value="warning"),)
    return Silence(id=silence_id, matchers=matchers, starts_ns=10, ends_ns=ends_ns, created_by="ann")


def test_it_is_there_after_a_restart_and_gone_after_its_end(tmp_path):
    store = SilenceStore(tmp_path)
    store.add(silence())
    store.close()
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
