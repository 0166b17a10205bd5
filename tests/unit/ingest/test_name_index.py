"""What a name may be, found by its fixed start."""

import pytest

from ingest.collectors.name_index import NameIndex


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("rx_bytes", ["fixed", "fixed again", "any rx"]),  # what has no label comes first
        ("rx_prio3_pause", ["pause", "bytes of it", "any rx"]),  # the longest start before shorter ones
        ("rx_", ["any rx"]),
        ("rx", []),
        ("", []),
        ("3_rx", []),
    ],
)
def test_candidates_have_the_start_of_the_name(name: str, expected: list[str]) -> None:
    index = NameIndex[str]()
    for template, value in (
        ("rx_{anything}", "any rx"),
        ("rx_bytes", "fixed"),
        ("rx_prio{priority}_pause", "pause"),
        ("rx_prio{priority}_bytes", "bytes of it"),
        ("rx_bytes", "fixed again"),
        ("tx_prio{priority}_pause", "other"),
    ):
        index.add(template, value)
    assert list(index.candidates(name)) == expected


def test_a_name_that_begins_with_a_label_may_be_any() -> None:
    index = NameIndex[str]()
    index.add("{lane}_power", "power")
    assert list(index.candidates("1_power")) == list(index.candidates("")) == ["power"]


def test_names_that_begin_otherwise_are_not_tried() -> None:
    index = NameIndex[int]()
    for system in range(1000):
        index.add(f"system{system}_prio{{priority}}_pause", system)
    assert list(index.candidates("system7_prio3_pause")) == [7]
