"""Requests of 1.0 and 2.0 to samples: what protobuf's own classes read, whatever the bytes."""

import contextlib
import struct
from collections.abc import Mapping, Sequence

import cramjam
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from common.errors import BadInput
from ingest.collectors.exposition.config import MappingEntry
from ingest.collectors.pushed_rule import PushedRule
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.remote_write.decode.body import Message, RequestReader
from ingest.collectors.remote_write.decode.labels import read_labels
from ingest.ledger import DropReason
from tests.unit.export.prompb import Request, WriteRequest

NOW_MS = 1_780_000_000_000
NOW_NS = NOW_MS * 1_000_000
TEMP = "DCGM_FI_DEV_MEMORY_TEMP"
Sample = tuple[float, int]
Series = tuple[Mapping[str, str], Sequence[Sample]]
BOTH = [Message.FIRST, Message.SECOND]


def packed(body: bytes) -> bytes:
    return bytes(cramjam.snappy.compress_raw(body))


def first(series: Sequence[Series]) -> bytes:
    """A WriteRequest as its bytes."""
    request = WriteRequest()
    for labels, samples in series:
        added = request.timeseries.add()
        for name, value in labels.items():
            added.labels.add(name=name, value=value)
        for number, time_ms in samples:
            added.samples.add(value=number, timestamp=time_ms)
    request.metadata.add(type=1, metric_family_name="a", help="of a")
    return bytes(request.SerializeToString())


def second(series: Sequence[Series]) -> bytes:
    """A Request of 2.0 as its bytes."""
    symbols = {"": 0}
    request = Request()
    for labels, samples in series:
        added = request.timeseries.add()
        for text in (text for pair in labels.items() for text in pair):
            added.labels_refs.append(symbols.setdefault(text, len(symbols)))
        for value, time_ms in samples:
            added.samples.add(value=value, timestamp=time_ms, start_timestamp=1)
        added.metadata.type = 1
        added.created_timestamp = 7
    request.symbols.extend(symbols)
    return bytes(request.SerializeToString())


def encoded(series: Sequence[Series], message: Message) -> bytes:
    return packed(first(series) if message is Message.FIRST else second(series))


def reader(series_max: int = 1000, bytes_max: int = 1 << 24) -> RequestReader:
    mapping = (MappingEntry(metric="node_power_watts", name="power", labels={}),)
    rules = (PushedRule(source="dcgm", mapping=mapping),)
    return RequestReader(PushedSeries("p", rules, 7, series_max=series_max, targets_max=100), bytes_max)


def gpu(number: int, instance: str = "node1:9400") -> dict[str, str]:
    return {"UUID": f"GPU-{number}", "__name__": TEMP, "instance": instance, "job": "gpu"}


def admitted(of: RequestReader) -> list[tuple[str, int, float]]:
    """Series, milliseconds after NOW_MS, value."""
    return [
        (batch.table.keys[row], time_ns // 1_000_000 - NOW_MS, value)
        for batch in of.admit(NOW_NS).batches
        for row, time_ns, value in zip(
            batch.series.tolist(), batch.times_ns.tolist(), batch.values.tolist(), strict=True
        )
    ]


def temperature(number: int, device: str = "node1") -> str:
    return f'gpu_memory_temperature_celsius{{device="{device}",gpu="GPU-{number}"}}'


@pytest.mark.parametrize("message", BOTH)
def test_a_request_becomes_samples_and_a_series_is_the_same_in_both_versions(message):
    read = reader()
    body = encoded([(gpu(1), [(40.0, NOW_MS), (41.0, NOW_MS + 1)]), (gpu(2, "node2:1"), [(5.0, NOW_MS)])], message)
    found = read.read(body, message)
    assert (found.samples, found.bad, found.refused, found.problem) == (3, 0, 0, "")
    assert admitted(read) == [(temperature(1), 0, 40.0), (temperature(1), 1, 41.0), (temperature(2, "node2"), 0, 5.0)]
    other = Message.SECOND if message is Message.FIRST else Message.FIRST
    read.read(encoded([(gpu(1), [(42.0, NOW_MS + 2)])], other), other)
    assert admitted(read) == [(temperature(1), 2, 42.0)]
    assert len(read._known) == 2, "one key, whatever the version"


names = st.text(min_size=1, max_size=8).filter(lambda name: name != "__name__")
labels = st.dictionaries(names, st.text(max_size=12), max_size=5)
samples = st.lists(st.tuples(st.floats(), st.integers(-(2**63), 2**63 - 1)), max_size=3)
requests = st.lists(st.tuples(labels, samples), max_size=6)


@pytest.mark.parametrize("message", BOTH)
@given(series=requests)
def test_any_request_is_read_as_protobuf_reads_it(message, series):
    series = [({"__name__": f"m{n}", **given}, values) for n, (given, values) in enumerate(series)]
    read = reader()
    seen: list[tuple[str, dict[str, str]]] = []
    add = read._series.add

    def watched(metric, found):
        seen.append((metric, dict(found)))
        return add(metric, found)

    read._series.add = watched  # type: ignore[method-assign]
    found = read.read(encoded(series, message), message)
    assert found.samples == sum(len(values) for _, values in series)
    expected = [(given["__name__"], {k: v for k, v in given.items() if v and k != "__name__"}) for given, _ in series]
    assert seen == expected
    (columns,) = read._waiting
    sent = [sample for _, values in series for sample in values]
    assert [struct.pack("<d", value) for value in columns[2]] == [struct.pack("<d", value) for value, _ in sent]
    bound = 2**62 // 1_000_000
    assert columns[1].tolist() == [max(-bound, min(time_ms, bound)) * 1_000_000 for _, time_ms in sent]


@pytest.mark.parametrize("message", BOTH)
@given(data=st.data())
def test_bytes_that_are_cut_or_changed_are_read_or_refused_and_break_nothing(message, data):
    body = bytearray((first if message is Message.FIRST else second)([(gpu(n), [(1.0, NOW_MS)]) for n in range(3)]))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    body = body[: data.draw(st.integers(0, len(body)))]
    read = reader()
    with contextlib.suppress(BadInput):
        read.read(packed(bytes(body)), message)
    read.admit(NOW_NS)
    read.read(encoded([(gpu(1), [(40.0, NOW_MS + 9)])], message), message)
    assert admitted(read) == [(temperature(1), 9, 40.0)]


@given(data=st.data())
def test_bodies_that_are_read_together_are_read_as_each_by_itself(data):
    """Also those that are cut off, which might go on with the next, and those that are too large."""
    bodies = []
    for time_ms in range(data.draw(st.integers(0, 6))):
        request = WriteRequest.FromString(first([(gpu(n), [(1.0 + n, NOW_MS + time_ms)]) for n in range(3)]))
        request.timeseries[0].histograms.add(sum=1.0)
        body = bytearray(request.SerializeToString())
        for _ in range(data.draw(st.integers(0, 1))):
            body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
        body = body[: data.draw(st.just(len(body)) | st.integers(0, len(body)))]
        bodies.append(data.draw(st.just(packed(bytes(body))) | st.just(packed(bytes(600))) | st.binary(max_size=9)))
    one, other = reader(bytes_max=500), reader(bytes_max=500)
    histograms = of_no_use = 0
    for body in bodies:
        try:
            histograms += one.read(body, Message.FIRST).histograms
        except BadInput:
            of_no_use += 1
    assert other.read_together(bodies) == (histograms, of_no_use)
    assert admitted(other) == admitted(one)


@given(body=st.binary(max_size=200))
def test_any_bytes_are_refused_or_read(body):
    read = reader()
    for message in BOTH:
        for each in (body, packed(body)):
            with contextlib.suppress(BadInput):
                read.read(each, message)
    read.admit(NOW_NS)


@pytest.mark.parametrize(
    ("series", "problem"),
    [
        ({"job": "gpu"}, "expected __name__"),
        ({"__name__": "a", "": "b"}, "expected a name that comes once"),
    ],
)
@pytest.mark.parametrize("message", BOTH)
def test_a_series_whose_labels_are_of_no_use_costs_itself_each_time(message, series, problem):
    read = reader()
    for _ in range(2):
        body = encoded([(series, [(1.0, NOW_MS), (2.0, NOW_MS)]), (gpu(1), [(40.0, NOW_MS)])], message)
        found = read.read(body, message)
        assert (found.samples, found.bad) == (3, 2)
        assert problem in found.problem
    of = read.admit(NOW_NS)
    assert of.dropped == {DropReason.BAD_FORMAT: 4, DropReason.DUPLICATE: 1}
    assert sum(map(len, of.batches)) == 1


def test_a_label_that_comes_twice_or_is_no_text_is_refused():
    twice = WriteRequest()
    added = twice.timeseries.add()
    for name in ("__name__", "a", "a"):
        added.labels.add(name=name, value="x")
    with pytest.raises(BadInput, match="comes once"):
        read_labels(twice.timeseries[0].SerializeToString())
    for key in (
        b"\x0a\x05\x0a\x01a\x12\x01\xff"[:-1] + b"\xff",
        b"\x0a\x20\x0a",
        b"\x08\x01",
        b"\x0a\x04\x0a\x02\xff\xfe",
    ):
        with pytest.raises(BadInput):
            read_labels(key)


def test_references_that_lead_nowhere_cost_their_series():
    request = Request(symbols=["", "__name__", TEMP, "instance", "node1", "UUID", "GPU-1"])
    for refs in ([1, 2, 3, 99], [1, 2, 3], [1, 2, 3, 4, 5, 6]):
        request.timeseries.add(labels_refs=refs).samples.add(value=40.0, timestamp=NOW_MS)
    read = reader()
    found = read.read(packed(request.SerializeToString()), Message.SECOND)
    assert (found.samples, found.bad, found.problem) == (3, 2, "labels_refs: expected pairs of places in symbols")
    assert admitted(read) == [(temperature(1), 0, 40.0)]


def test_references_that_are_not_packed_are_read():
    symbols = b"".join(
        b"\x22" + bytes([len(text)]) + text.encode()
        for text in ("", "__name__", TEMP, "UUID", "GPU-1", "instance", "node1")
    )
    series = b"".join(b"\x08" + bytes([ref]) for ref in (1, 2, 3, 4, 5, 6)) + b"\x12\x09\x09" + struct.pack("<d", 40.0)
    read = reader()
    found = read.read(packed(symbols + b"\x2a" + bytes([len(series)]) + series), Message.SECOND)
    assert (found.samples, found.bad) == (1, 0)
    assert read.admit(NOW_NS).dropped == {DropReason.EVENT_TIME: 1}, "time 0 is not now"


def test_the_first_symbol_is_empty():
    with pytest.raises(BadInput, match="empty text first"):
        reader().read(packed(Request(symbols=["a"]).SerializeToString()), Message.SECOND)


def test_histograms_and_exemplars_are_counted():
    request, old = Request(symbols=["", "__name__", "a"]), WriteRequest()
    added = request.timeseries.add(labels_refs=[1, 2])
    added.histograms.add(sum=1.0)
    added.exemplars.add(value=1.0)
    added.exemplars.add(value=2.0)
    found = reader().read(packed(request.SerializeToString()), Message.SECOND)
    assert (found.samples, found.histograms, found.exemplars) == (0, 1, 2)
    added = old.timeseries.add()
    added.histograms.add(sum=1.0)
    added.exemplars.add(value=1.0)
    added.exemplars.add(value=2.0)
    found = reader().read(packed(old.SerializeToString()), Message.FIRST)
    assert (found.samples, found.histograms, found.exemplars) == (0, 1, 2)


def test_what_unpacks_to_too_much_is_refused_before_it_is_unpacked():
    bomb = packed(bytes(1 << 20))
    assert len(bomb) < 1 << 17
    with pytest.raises(BadInput, match="1048576 bytes unpacked: at most 1000") as error:
        reader(bytes_max=1000).read(bomb, Message.FIRST)
    assert error.value.reason == "too_large"
    symbols = Request(symbols=["", "x" * 10_000])
    for _ in range(100):
        symbols.timeseries.add(labels_refs=[1] * 100)
    with pytest.raises(BadInput, match="bytes of labels: at most 1000000") as error:
        reader(bytes_max=1_000_000).read(packed(symbols.SerializeToString()), Message.SECOND)
    assert error.value.reason == "too_large"


def test_series_beyond_the_limit_are_refused_and_silent_ones_make_room():
    read = reader(series_max=4)
    found = read.read(encoded([(gpu(n), [(1.0, NOW_MS)]) for n in range(6)], Message.FIRST), Message.FIRST)
    assert (found.refused, found.problem) == (2, "no room for 2 samples of new series")
    assert read.admit(NOW_NS).dropped == {DropReason.NEW_SERIES: 2}
    hour = 3_700_000
    read.read(encoded([(gpu(3), [(2.0, NOW_MS + hour)])], Message.FIRST), Message.FIRST)
    read.admit(NOW_NS + hour * 1_000_000)
    found = read.read(encoded([(gpu(n), [(3.0, NOW_MS + hour + 1)]) for n in (5, 3)], Message.FIRST), Message.FIRST)
    assert found.refused == 0
    of = read.admit(NOW_NS + hour * 1_000_000)
    assert sorted(np.concatenate([batch.values for batch in of.batches]).tolist()) == [3.0, 3.0]
    assert of.batches[0].table.keys == (temperature(3), temperature(5))
