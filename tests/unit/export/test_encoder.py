import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from common.errors import BadInput
from export.remote_write.encoder import STALE_BITS, SampleBlock, encode_request
from export.remote_write.labels import encode_labels, encode_table, join
from export.remote_write.requests import count, halves, split
from telemetry.series import SeriesTable
from tests.unit.export.prompb import decode, flat

TEXT = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=300)
LABELS = st.dictionaries(st.from_regex(r"[a-zA-Z][a-zA-Z0-9_]{0,8}", fullmatch=True), TEXT, max_size=5)
SAMPLES = st.lists(st.tuples(st.floats(allow_nan=False), st.integers(-(2**62), 2**62)), min_size=1, max_size=4)


def block_of(*series: list[tuple[float, int]]) -> SampleBlock:
    """Series n has the label n."""
    numbers = [n for n, samples in enumerate(series) for _ in samples]
    values = np.array([value for samples in series for value, _ in samples])
    times = np.array([time for samples in series for _, time in samples], dtype=np.int64)
    labels = join([encode_labels("m", {"n": str(n)}, {}) for n in range(len(series))])
    return SampleBlock(labels, np.array(numbers, dtype=np.int64), times, values.view(np.uint64))


@settings(deadline=None)  # the first example compiles
@given(st.lists(st.tuples(LABELS, SAMPLES), min_size=1, max_size=6))
def test_protobuf_reads_what_was_written(series):
    encoded = join([encode_labels("metric", labels, {}) for labels, _ in series])
    numbers = [n for n, (_, samples) in enumerate(series) for _ in samples]
    values = np.array([value for _, samples in series for value, _ in samples])
    times = np.array([time for _, samples in series for _, time in samples], dtype=np.int64)
    body = encode_request([SampleBlock(encoded, np.array(numbers, dtype=np.int64), times, values.view(np.uint64))])
    expected = [
        (tuple(sorted({**labels, "__name__": "metric"}.items(), key=lambda pair: pair[0].encode())), samples)
        for labels, samples in series
    ]
    assert decode(body) == expected


def test_the_bits_of_the_stale_marker_arrive_unchanged():
    block = block_of([(0.0, 1)])
    body = encode_request([SampleBlock(block.labels, block.series, block.times_ms, np.array([STALE_BITS]))])
    ((_, ((value, _),)),) = decode(body)
    assert struct.pack(">d", value).hex() == "7ff0000000000002"


def test_a_sample_of_zero_at_time_zero_is_written():
    assert flat(encode_request([block_of([(0.0, 0)], [(-0.0, 0)])])) == [("m n=0", 0.0, 0), ("m n=1", -0.0, 0)]


def test_own_labels_win_over_external_ones_and_empty_ones_are_absent():
    labels = encode_labels("m", {"device": "leaf1", "empty": ""}, {"device": "x", "cluster": "pod1"})
    block = SampleBlock(join([labels]), np.array([0]), np.array([1]), np.array([1.0]).view(np.uint64))
    ((found, _),) = decode(encode_request([block]))
    assert found == (("__name__", "m"), ("cluster", "pod1"), ("device", "leaf1"))


def test_a_series_that_cannot_be_written_costs_itself():
    table = SeriesTable(
        "t", "d", ('good{a="1"}', "no braces", 'surrogate{a="\ud800"}', 'huge{a="' + "x" * 70_000 + '"}')
    )
    assert encode_table(table, {}).usable.tolist() == [True, False, False, False]
    with pytest.raises(BadInput, match="Unicode"):
        encode_labels("m", {"a": "\ud800"}, {})


BLOCKS = st.lists(st.lists(st.integers(1, 3), min_size=1, max_size=5), min_size=1, max_size=5)


def blocks_of(shape: list[list[int]]) -> list[SampleBlock]:
    return [
        block_of(*([(float(number), time) for time in range(samples)] for samples in series))
        for number, series in enumerate(shape)
    ]


def everything(requests: list[list[SampleBlock]]) -> list[tuple[str, float, int]]:
    return [row for request in requests for row in flat(encode_request(request))]


@settings(deadline=None)  # the first example compiles
@given(BLOCKS, st.integers(1, 7))
def test_splitting_keeps_every_sample_in_order_and_the_limit(shape, samples_max):
    blocks = blocks_of(shape)
    requests = split(blocks, samples_max)
    assert everything(requests) == everything([blocks])
    assert all(0 < count(request) <= samples_max for request in requests)


@settings(deadline=None)  # the first example compiles
@given(BLOCKS)
def test_halving_ends_at_single_samples_in_order(shape):
    blocks = blocks_of(shape)
    stack, leaves = [blocks], []
    while stack:
        part = stack.pop()
        if count(part) == 1:
            leaves.append(part)
        else:
            stack += reversed(halves(part))
    assert everything(leaves) == everything([blocks])
