"""A request that repeats an earlier one but for times and values gives what a scan of it gives."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from common.errors import BadInput
from ingest.collectors import pushed_layout
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.collectors.pushed_layout import PushedLayouts
from tests.unit.ingest.otlp.requests import NOW_NS, gauge, request, total
from tests.unit.ingest.otlp.test_otlp_decode import OCTETS, PORT, UP, S, decode, decoder, samples

_PUSHED_NUMBERS = st.one_of(st.integers(-5, 2**53), st.floats())
_PUSHED_POINTS = st.lists(
    st.tuples(st.sampled_from(["swp1", "swp2", "swp10"]), _PUSHED_NUMBERS, st.integers(-4000, 4000), st.booleans()),
    max_size=5,
)
_PUSHED_METRICS = st.lists(st.tuples(st.sampled_from(["state", "octets", "outside"]), _PUSHED_POINTS), max_size=3)
_PUSHES = st.lists(st.tuples(st.sampled_from(["leaf1", "leaf2", "leaf10"]), st.integers(0, 3)), min_size=2, max_size=9)

Points = list[tuple[str, int | float, int, bool]]


def pushed(metrics: list[tuple[str, Points]], device: str, number: int) -> bytes:
    """A push of one device. The values and times of one with another number are others."""
    made = []
    for name, points in metrics:
        metric = Metric(name=name)
        for port, value, seconds, is_absent in points:
            one = gauge(name, ({"interface": port}, value + number), at_ns=NOW_NS + (seconds + number) * S)
            one.gauge.data_points[0].flags = int(is_absent)
            metric.MergeFrom(one)
        made.append(metric)
    return request(*made, device=device).SerializeToString()


def outcome(own: Decoder, data: bytes) -> tuple[object, ...] | str:
    try:
        decoded = own.decode(data, "10.0.0.1", NOW_NS)
    except BadInput as error:
        return str(error)
    admitted = decoded.admitted
    batches = [
        (
            each.table.target,
            each.table.keys,
            each.collection,
            each.times_ns.tolist(),
            each.series.tolist(),
            each.values.tolist(),
        )
        for each in admitted.batches
    ]
    return batches, admitted.dropped, admitted.of_targets, admitted.unmapped, decoded.points, decoded.changes


def scanning() -> Decoder:
    """A decoder to which each request is the first of its layout."""
    own = decoder()
    own._layouts.learn = lambda *_: None  # type: ignore[method-assign]
    return own


@given(_PUSHED_METRICS, _PUSHED_METRICS, _PUSHES)
def test_a_layout_that_is_known_gives_what_a_scan_gives(
    first: list[tuple[str, Points]], second: list[tuple[str, Points]], pushes: list[tuple[str, int]]
) -> None:
    known, scanned = decoder(), scanning()
    for device, number in pushes:
        data = pushed(second if number == 2 else first, device, number)
        assert outcome(known, data) == outcome(scanned, data)


def test_a_known_layout_with_any_byte_changed_gives_what_a_scan_gives() -> None:
    known, scanned = decoder(), scanning()
    metrics: list[tuple[str, Points]] = [("state", [("swp1", 1, 0, False), ("swp2", 0, 0, False)])]
    for number in range(2):
        assert outcome(known, pushed(metrics, "leaf1", number)) == outcome(scanned, pushed(metrics, "leaf1", number))
    number = 2
    for place in range(len(pushed(metrics, "leaf1", 0))):
        for bit in (1, 8, 128):
            data = bytearray(pushed(metrics, "leaf1", number))
            data[place] ^= bit
            assert outcome(known, bytes(data)) == outcome(scanned, bytes(data)), (place, bit)
            number += 1


def test_a_request_in_the_layout_of_an_earlier_one_is_not_scanned(monkeypatch: pytest.MonkeyPatch) -> None:
    own = decoder()
    decode(own, request(gauge("state", (PORT, 1)), total("octets", PORT, 7.0)))
    monkeypatch.setattr(own, "_scan", None)  # it would raise
    later = request(gauge("state", (PORT, 0), at_ns=NOW_NS + S), total("octets", PORT, 9.0, at_ns=NOW_NS + S))
    assert samples(decode(own, later)) == [(UP, 1, 0.0), (OCTETS, 1, 9.0)]


def test_layouts_that_never_come_again_are_learned_now_and_then_and_are_bounded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layouts, holes = PushedLayouts(), np.array([[0], [8], [16], [0]])
    for number in range(100):
        layouts.learn(1, number.to_bytes(8, "little") + bytes(16), holes)
    found = [number for number in range(100) if layouts.find(1, number.to_bytes(8, "little") + bytes(16))]
    assert found == [*range(16), 79]
    layouts.came_again(1)
    layouts.learn(1, b"again..." + bytes(16), holes)
    assert layouts.find(1, b"again..." + bytes(16))
    monkeypatch.setattr(pushed_layout, "LAYOUTS_BYTES_MAX", 2 * (2 * 24 + 32 + 1024))
    layouts.learn(2, bytes(24), holes)
    kept = [number for number in range(100) if layouts.find(1, number.to_bytes(8, "little") + bytes(16))]
    assert kept == [], "the ones that came first are forgotten"
    assert layouts.find(2, bytes(24))
