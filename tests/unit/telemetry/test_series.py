"""Names of series, and tables of them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from telemetry.series import SeriesTable, parse_series_key, series_key

names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)


@pytest.mark.parametrize(
    ("metric", "labels", "key"),
    [
        ("up", {}, "up{}"),
        ("up", {"device": "node1"}, 'up{device="node1"}'),
        ("up", {"gpu": "0", "device": "node1"}, 'up{device="node1",gpu="0"}'),  # sorted by name
        ("up", {"a": ""}, 'up{a=""}'),
        ("up", {"a": 'say "x"'}, r'up{a="say \"x\""}'),
        ("up", {"a": "C:\\x"}, r'up{a="C:\\x"}'),
        ("up", {"a": "one\ntwo"}, r'up{a="one\ntwo"}'),
        ("up", {"a": "\\n"}, r'up{a="\\n"}'),  # a backslash and an n are no line feed
        ("up", {"a": "},{="}, 'up{a="},{="}'),
        ("up", {"a": "°C 漢"}, 'up{a="°C 漢"}'),
    ],
)
def test_the_spelling_of_a_series_and_back(metric: str, labels: dict[str, str], key: str) -> None:
    assert series_key(metric, labels) == key
    assert parse_series_key(key) == (metric, labels)


@given(names, st.dictionaries(names, st.text(max_size=8), max_size=4))
def test_any_labels_come_back(metric: str, labels: dict[str, str]) -> None:
    assert parse_series_key(series_key(metric, labels)) == (metric, labels)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("", "expected metric{label"),
        ("up", "expected metric{label"),
        ("up{", "expected metric{label"),
        ('up{a="b"', "expected metric{label"),
        ("up{a}", "at character 3"),
        ("up{a=b}", "at character 3"),
        ('up{a="b" }', "at character 3"),
        ('up{0a="b"}', "at character 3"),
        ('up{a="b",c}', "at character 9"),
        ('up{a="b"c="d"}', "at character 3"),
    ],
)
def test_other_spellings_are_refused(key: str, message: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_series_key(key)
    assert message in str(caught.value)


def test_a_long_key_is_cut_in_the_message() -> None:
    with pytest.raises(BadInput) as caught:
        parse_series_key("x" * 10_000)
    assert len(str(caught.value)) < 200


TABLE = SeriesTable("job/a:1", "node1", ("a{}", "b{}"))


def test_tables_of_one_content_are_equal_and_have_one_digest() -> None:
    other = SeriesTable("job/a:1", "node1", ("a{}", "b{}"))
    assert (TABLE, hash(TABLE), TABLE.digest) == (other, hash(other), other.digest)
    assert (len(TABLE.digest), len(TABLE)) == (16, 2)


@pytest.mark.parametrize(
    "other",
    [
        SeriesTable("job/a:2", "node1", ("a{}", "b{}")),
        SeriesTable("job/a:1", "node2", ("a{}", "b{}")),
        SeriesTable("job/a:1", "node1", ("b{}", "a{}")),
        SeriesTable("job/a:1", "node1", ("a{}",)),
        SeriesTable("job/a:1", "node1", ()),
        "a table",
    ],
)
def test_another_target_device_order_or_series_is_another_table(other: object) -> None:
    assert other != TABLE
    assert not isinstance(other, SeriesTable) or other.digest != TABLE.digest


def test_the_digest_is_the_one_that_recordings_hold() -> None:
    """``printf 'job/a:1\\nnode1\\na{}\\nb{}' | b2sum -l 128``: a change would make recorded tables unknown."""
    assert TABLE.digest.hex() == "f9e3910e41e97a0c666603eb1b39c029"
