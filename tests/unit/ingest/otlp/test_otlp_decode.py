"""OTLP requests to canonical samples: each form of data, what is refused, and the same as protobuf's own classes."""

import math
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric, NumberDataPoint

from common.errors import BadInput
from ingest.collectors.otlp.answer import answer
from ingest.collectors.otlp.config import OtlpRule
from ingest.collectors.otlp.decode.decoder import Decoded, Decoder
from ingest.collectors.pushed_series import PushedSeries
from ingest.collectors.pushed_targets import FORGET_NS
from ingest.ledger import DropReason
from tests.unit.ingest.otlp.requests import NOW_NS, RULE, Value, attributes, gauge, request, total

UP = 'fabric_port_up{device="leaf1",port="swp1"}'
OCTETS = 'fabric_port_receive_bytes_total{device="leaf1",port="swp1"}'
PORT = {"interface": "swp1"}
S = 10**9


def decoder(*rules: OtlpRule, series_max: int = 1000) -> Decoder:
    return Decoder(PushedSeries("otlp", rules or (RULE,), 7, series_max=series_max, targets_max=10))


def decode(
    own: Decoder, message: ExportMetricsServiceRequest, sender: str = "10.0.0.1", now_ns: int = NOW_NS
) -> Decoded:
    return own.decode(message.SerializeToString(), sender, now_ns)


def samples(decoded: Decoded) -> list[tuple[str, int, float]]:
    """Series, seconds after NOW_NS, value."""
    return [
        (batch.table.keys[row], (time_ns - NOW_NS) // S, value)
        for batch in decoded.admitted.batches
        for row, time_ns, value in zip(
            batch.series.tolist(), batch.times_ns.tolist(), batch.values.tolist(), strict=True
        )
    ]


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (gauge("state", (PORT, 1)), [(UP, 0, 1.0)]),
        (gauge("octets", (PORT, 2.5e9)), [(OCTETS, 0, 2.5e9)]),  # Cumulus sends counters as gauges
        (gauge("octets", (PORT, 2**53)), [(OCTETS, 0, 2.0**53)]),
        (total("octets", PORT, 7.0), [(OCTETS, 0, 7.0)]),
        (gauge("state", (PORT, 0)), [(UP, 0, 0.0)]),
        (gauge("state", ({"interface": 1}, 1)), [('fabric_port_up{device="leaf1",port="1"}', 0, 1.0)]),
        (gauge("state", ({"interface": True}, 1)), [('fabric_port_up{device="leaf1",port="true"}', 0, 1.0)]),
        (gauge("outside", (PORT, 1)), []),
        (Metric(name="state"), []),
    ],
)
def test_each_form_of_a_number(metric: Metric, expected: list[tuple[str, int, float]]) -> None:
    own = decoder()
    found = decode(own, request(metric))
    assert samples(found) == expected
    assert samples(decode(own, request(metric))) == [], "a repetition is no news"


def test_a_histogram_gives_its_count_and_its_sum() -> None:
    for kind in ("histogram", "exponential_histogram", "summary"):
        metric = Metric(name="depth")
        data = getattr(metric, kind)
        if kind != "summary":
            data.aggregation_temporality = 2
        point = data.data_points.add(time_unix_nano=NOW_NS, count=12, sum=340.5)
        attributes(point, PORT)
        found = decode(decoder(), request(metric))
        assert samples(found) == [
            ('fabric_port_flaps_total{device="leaf1",port="swp1"}', 0, 12.0),
            ('fabric_port_transmit_bytes_total{device="leaf1",port="swp1"}', 0, 340.5),
        ]
        assert found.points == 1


def test_a_histogram_without_a_sum_gives_its_count_alone() -> None:
    """As Cumulus' egress buffer histogram; an empty one says no count either, which is 0."""
    metric = Metric(name="depth")
    metric.histogram.aggregation_temporality = 2  # type: ignore[assignment]
    attributes(metric.histogram.data_points.add(time_unix_nano=NOW_NS), PORT)
    assert samples(decode(decoder(), request(metric))) == [
        ('fabric_port_flaps_total{device="leaf1",port="swp1"}', 0, 0.0)
    ]


@pytest.mark.parametrize("temporality", [0, 1])
def test_what_is_no_sum_since_the_start_is_refused_with_a_reason(temporality: int) -> None:
    found = decode(decoder(), request(total("octets", PORT, 7.0, temporality=temporality), gauge("state", (PORT, 1))))
    assert samples(found) == [(UP, 0, 1.0)]
    assert found.admitted.dropped == {DropReason.BAD_FORMAT: 1}
    partial = answer(found).partial_success
    assert partial.rejected_data_points == 1
    assert "1 of delta temporality: expected cumulative" in partial.error_message


def test_points_that_are_no_sample_are_counted_with_their_reason() -> None:
    metric = gauge(
        "octets",
        ({"interface": "a"}, math.nan),
        ({"interface": "b"}, -5.0),
        ({"interface": "c"}, 1.0),
        ({"interface": "d"}, 1.0),
        ({"interface": "e"}, 1.0),
    )
    points = metric.gauge.data_points
    points[2].time_unix_nano = NOW_NS - 7200 * S
    points[3].time_unix_nano = 2**64 - 1
    points[4].flags = 1  # no recorded value
    absent = NumberDataPoint(time_unix_nano=NOW_NS)
    attributes(absent, {"interface": "f"})
    points.append(absent)
    found = decode(decoder(), request(metric))
    assert found.admitted.received == found.points == 6
    assert {reason for reason, n in found.admitted.dropped.items() if n} <= {
        DropReason.NO_VALUE,
        DropReason.OUT_OF_BOUNDS,
        DropReason.EVENT_TIME,
    }
    assert found.admitted.dropped[DropReason.NO_VALUE] == 3
    assert found.admitted.dropped[DropReason.EVENT_TIME] == 2
    assert answer(found).HasField("partial_success")


def test_all_that_is_accepted_is_answered_without_a_word() -> None:
    own = decoder()
    message = request(gauge("state", (PORT, 1)), gauge("outside", (PORT, 1)))
    first, repeated = decode(own, message), decode(own, message)
    assert (first.admitted.unmapped, repeated.admitted.dropped[DropReason.DUPLICATE]) == (1, 1)
    assert answer(first) == answer(repeated) == ExportMetricsServiceResponse()


# ---- whose samples they are


def devices(decoded: Decoded) -> set[tuple[str, str]]:
    return {(batch.table.target, batch.table.device) for batch in decoded.admitted.batches}


def test_the_device_is_the_first_attribute_that_is_there() -> None:
    message = request(gauge("state", (PORT, 1)), device="", **{"net.host.name": "leaf7", "service.instance.id": "x"})
    assert devices(decode(decoder(), message)) == {("otlp/leaf7", "leaf7")}


def test_without_an_attribute_the_device_is_the_sender() -> None:
    message = request(gauge("state", (PORT, 1)), device="")
    own = decoder()
    assert devices(decode(own, message)) == {("otlp/10.0.0.1", "10.0.0.1")}
    assert devices(decode(own, message, sender="10.0.0.2")) == {("otlp/10.0.0.2", "10.0.0.2")}
    assert devices(decode(own, message, sender="[2001:db8::1]:0")) == {("otlp/[2001:db8::1]:0", "2001:db8::1")}


def test_nobody_can_say_to_be_another_sender() -> None:
    rule = RULE.model_copy(update={"device_from": ("sender",)})
    message = request(gauge("state", ({**PORT, "sender": "leaf9"}, 1)), device="leaf9", sender="leaf9")
    assert devices(decode(decoder(rule), message)) == {("otlp/10.0.0.1", "10.0.0.1")}


def test_devices_of_one_request_are_told_apart() -> None:
    message = request(gauge("state", (PORT, 1)))
    message.resource_metrics.extend(request(gauge("state", (PORT, 0)), device="leaf2").resource_metrics)
    own = decoder()
    for at_s in (0, 1):
        for of_device in message.resource_metrics:
            for metric in of_device.scope_metrics[0].metrics:
                metric.gauge.data_points[0].time_unix_nano = NOW_NS + at_s * S
        found = decode(own, message)
        assert samples(found) == [(UP, at_s, 1.0), ('fabric_port_up{device="leaf2",port="swp1"}', at_s, 0.0)]


def test_rules_choose_by_the_service() -> None:
    other = OtlpRule.model_validate(
        {"job": "fabric/.*", "source": "x", "mapping": [{"name": "octets", "metric": "fabric_port_up"}]}
    )
    chosen = {"service.namespace": "fabric", "service.name": "agent"}
    message = request(gauge("octets", ({"port": "p"}, 1)), **chosen)
    assert samples(decode(decoder(other, RULE), message)) == [('fabric_port_up{device="leaf1",port="p"}', 0, 1.0)]
    assert samples(decode(decoder(other, RULE), request(gauge("octets", (PORT, 1))))) == [(OCTETS, 0, 1.0)]


# ---- wire format


def reversed_fields(message: bytes) -> bytes:
    """The fields of one message, the last one first. Only lengths below 128 and fixed words."""
    fields, at = [], 0
    while at < len(message):
        wire = message[at] & 7
        size = {0: 2, 1: 9, 2: 2 + message[at + 1] if wire == 2 else 0}[wire]
        fields.append(message[at : at + size])
        at += size
    return b"".join(reversed(fields))


def field(number: int, data: bytes) -> bytes:
    size = len(data)
    assert size < 2**14
    return bytes([number << 3 | 2]) + (bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])) + data


def test_fields_in_any_order_give_the_same() -> None:
    """Name behind the data, resource behind the metrics, attributes before and behind the value."""
    point = NumberDataPoint(time_unix_nano=NOW_NS, as_int=1)
    one, two = NumberDataPoint(), NumberDataPoint()
    attributes(one, PORT)
    attributes(two, {"more": "x"})
    split = one.SerializeToString() + point.SerializeToString() + two.SerializeToString()
    metric = field(5, field(1, split)) + field(1, b"state")
    resource = request().resource_metrics[0].resource.SerializeToString()
    data = field(1, field(2, field(2, metric)) + field(1, resource))
    own = decoder()
    assert samples(own.decode(data, "s", NOW_NS)) == [(UP, 0, 1.0)]
    again = request(gauge("state", ({**PORT, "more": "x"}, 0), at_ns=NOW_NS + S))
    assert samples(decode(own, again, "s")) == [(UP, 1, 0.0)]
    assert len(own._pushed) == 1, "the same series in both orders"


def test_data_in_two_parts_is_merged_as_protobuf_does() -> None:
    points = [gauge("state", ({"interface": name}, 1)).gauge.SerializeToString() for name in ("a", "b")]
    metric = field(1, b"state") + b"".join(field(5, part) for part in points)
    resource = request().resource_metrics[0].resource.SerializeToString()
    data = field(1, field(1, resource) + field(2, field(2, metric)))
    assert len(samples(decoder().decode(data, "s", NOW_NS))) == 2


@pytest.mark.parametrize(
    "data", [b"\x0a", b"\x0a\xff", b"\x0a\x05abc", b"\xff" * 20, b"\x0b", request().SerializeToString()[:-1]]
)
def test_what_is_no_request_is_refused(data: bytes) -> None:
    with pytest.raises(BadInput):
        decoder().decode(data, "s", NOW_NS)


def test_an_empty_request_is_one() -> None:
    found = decoder().decode(b"", "s", NOW_NS)
    assert (found.points, answer(found)) == (0, ExportMetricsServiceResponse())


def test_attributes_that_are_none_are_counted() -> None:
    """The scan passes over what is in an attribute; who reads it for the first time finds it broken."""
    point = NumberDataPoint(time_unix_nano=NOW_NS, as_int=1).SerializeToString() + field(7, b"\x0a\xff")
    metric = field(1, b"state") + field(5, field(1, point))
    data = field(1, field(2, field(2, metric)))
    found = decoder().decode(data, "s", NOW_NS)
    assert found.admitted.dropped == {DropReason.BAD_FORMAT: 1}


def test_more_points_than_the_columns_hold() -> None:
    ports = [{"interface": f"swp{n}"} for n in range(10_000)]
    own = decoder(series_max=20_000)
    for at_s in (0, 1):
        message = request(gauge("octets", *((port, n) for n, port in enumerate(ports)), at_ns=NOW_NS + at_s * S))
        found = samples(decode(own, message))
        assert [value for _, _, value in found] == list(map(float, range(10_000)))


# ---- limits


def test_series_beyond_the_limit_are_counted_and_known_ones_live_on() -> None:
    own = decoder(series_max=2)
    ports: Sequence[dict[str, Value]] = [{"interface": name} for name in "abc"]
    found = decode(own, request(gauge("octets", *((port, 1) for port in ports))))
    assert len(samples(found)) == 2
    assert found.admitted.dropped == {DropReason.NEW_SERIES: 1}
    found = decode(own, request(gauge("octets", *((port, 2) for port in ports), at_ns=NOW_NS + S), device="leaf1"))
    assert len(samples(found)) == 2
    decode(own, request(gauge("octets", (PORT, 1)), device="elsewhere"))
    assert len(own._resources) == 1, "what brings no series is not kept"


def test_silent_series_make_room() -> None:
    own = decoder(series_max=2)
    decode(own, request(gauge("octets", ({"interface": "a"}, 1), ({"interface": "b"}, 1))))
    later_ns = NOW_NS + FORGET_NS // 2
    decode(own, request(gauge("octets", ({"interface": "b"}, 2), at_ns=later_ns)), now_ns=later_ns)
    now_ns = NOW_NS + FORGET_NS + S
    metric = gauge("octets", ({"interface": "b"}, 3), ({"interface": "c"}, 4), at_ns=now_ns)
    found = decode(own, request(metric), now_ns=now_ns)
    assert [(key, value) for key, _, value in samples(found)] == [
        ('fabric_port_receive_bytes_total{device="leaf1",port="b"}', 3.0),
        ('fabric_port_receive_bytes_total{device="leaf1",port="c"}', 4.0),
    ]


# ---- the same as protobuf's classes

_LABELS = st.dictionaries(st.sampled_from(["interface", "tc", "x"]), st.sampled_from(["swp1", "swp2", 3]), max_size=3)
_POINTS = st.lists(st.tuples(_LABELS, st.integers(0, 2**40) | st.floats(0, 1e12)), max_size=4)
_METRICS = st.lists(
    st.one_of(
        st.builds(lambda name, points: gauge(name, *points), st.sampled_from(["octets", "state", "y"]), _POINTS),
        st.builds(lambda labels, value: total("octets", labels, value), _LABELS, st.floats(0, 1e12)),
    ),
    max_size=4,
)


def plain(message: ExportMetricsServiceRequest) -> Counter[tuple[str, float]]:
    """Series and value, the first of each series, as read with protobuf's classes."""
    names = {"octets": "fabric_port_receive_bytes_total", "state": "fabric_port_up"}
    found: dict[str, float] = {}
    for of_device in message.resource_metrics:
        device = of_device.resource.attributes[0].value.string_value
        for metric in of_device.scope_metrics[0].metrics:
            for point in (metric.gauge if metric.HasField("gauge") else metric.sum).data_points:
                labels = {each.key: each.value for each in point.attributes}
                value = point.as_int if point.HasField("as_int") else point.as_double
                if metric.name in names and "interface" in labels:
                    stated = labels["interface"]
                    port = stated.string_value if stated.HasField("string_value") else str(stated.int_value)
                    if metric.name != "state" or 0 <= value <= 1:
                        found.setdefault(f'{names[metric.name]}{{device="{device}",port="{port}"}}', float(value))
    return Counter(found.items())


@given(st.lists(st.tuples(_METRICS, st.sampled_from(["leaf1", "leaf2"])), max_size=3))
@settings(max_examples=60, deadline=None)
def test_the_scan_reads_what_protobuf_reads(parts: list[tuple[list[Metric], str]]) -> None:
    message = ExportMetricsServiceRequest()
    for metrics, device in parts:
        message.resource_metrics.extend(request(*metrics, device=device).resource_metrics)
    own = decoder()
    found = decode(own, message)
    assert Counter((key, value) for key, _, value in samples(found)) == plain(message)
    counted = found.admitted.received + found.admitted.unmapped
    assert counted == found.points


@given(st.binary(max_size=200), st.integers(0, 150))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_read_or_refused(noise: bytes, at: int) -> None:
    good = request(gauge("state", (PORT, 1)), total("octets", PORT, 7.0)).SerializeToString()
    own = decoder()
    for data in (noise, good[:at] + noise + good[at + len(noise) :]):
        try:
            found = own.decode(data, "s", NOW_NS)
        except BadInput:
            continue
        assert found.admitted.received == sum(map(len, found.admitted.batches)) + found.admitted.dropped.total()
