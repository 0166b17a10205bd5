"""How blocks become requests, and how a rejected one is divided: tables of sizes."""

import numpy as np
import pytest

from export.remote_write.encoder import SampleBlock
from export.remote_write.labels import join
from export.remote_write.requests import PROBES, count, halves, probes, split


def block(size: int, samples_of_a_series: int = 1) -> SampleBlock:
    """Series 0, 1, 2, … with so many samples each."""
    series = np.arange(size) // samples_of_a_series
    labels = join([b"x"] * (int(series[-1]) + 1 if size else 0))
    return SampleBlock(labels, series, np.arange(size), np.zeros(size, dtype=np.uint64))


def sizes(blocks: list[SampleBlock]) -> list[int]:
    return [len(each) for each in blocks]


@pytest.mark.parametrize(
    ("blocks", "samples_max", "expected"),
    [
        ([], 5, []),
        ([0], 5, []),
        ([5], 5, [[5]]),
        ([6], 5, [[5], [1]]),
        ([2, 2], 5, [[2, 2]]),
        ([2, 2, 2], 5, [[2, 2, 1], [1]]),
        ([12], 5, [[5], [5], [2]]),
        ([0, 3, 0, 3], 3, [[3], [3]]),
        ([3], 1, [[1], [1], [1]]),
    ],
)
def test_requests_are_filled_in_order(blocks, samples_max, expected):
    assert [sizes(request) for request in split([block(size) for size in blocks], samples_max)] == expected


@pytest.mark.parametrize(
    ("blocks", "first", "second"),
    [([2], [1], [1]), ([5], [2], [3]), ([1, 1], [1], [1]), ([4, 1, 1], [4], [1, 1]), ([1, 2, 3, 4], [1, 2], [3, 4])],
)
def test_halves_are_between_blocks_while_there_are_several(blocks, first, second):
    one, other = halves([block(size) for size in blocks])
    assert (sizes(one), sizes(other)) == (first, second)


def test_one_sample_cannot_be_divided():
    with pytest.raises(AssertionError):
        halves([block(1)])


@pytest.mark.parametrize(
    ("size", "samples_of_a_series", "chosen"),
    [
        (2 * PROBES, 1, []),  # so few are bisected as fast
        (2 * PROBES + 1, 1, [0, 2, 4, 6, 9, 11, 13, 16]),
        (100, 1, [0, 14, 28, 42, 56, 70, 84, 99]),
        (2 * 100, 2, [0, 14, 28, 42, 56, 70, 84, 99]),
        (100, 100, []),
    ],
)
def test_probes_are_single_samples_of_series_all_over_the_block(size, samples_of_a_series, chosen):
    found = probes([block(size, samples_of_a_series)])
    assert [int(each.series[0]) for each in found] == chosen
    assert sizes(found) == [1] * len(chosen)
    assert [int(each.times_ms[0]) for each in found] == [series * samples_of_a_series for series in chosen]


def test_probes_are_spread_over_blocks_and_none_is_of_a_series_that_has_an_earlier_sample():
    one, other, small = block(100), block(100), block(3)
    found = probes([small, one, one.part(10, 90), other], 4)
    assert [(each.labels, int(each.series[0])) for each in found] == [
        (small.labels, 0),
        (one.labels, 64),
        (other.labels, 31),
        (other.labels, 99),
    ]
    assert [int(each.series[0]) for each in probes([one], 1)] == [0]


def test_samples_are_counted_over_blocks():
    assert (count([]), count([block(0), block(3), block(4)])) == (0, 7)


def test_a_part_shares_the_columns():
    whole = block(10)
    part = whole.part(3, 5)
    assert (part.series.tolist(), part.labels) == ([3, 4], whole.labels)
    assert np.shares_memory(part.series, whole.series)
