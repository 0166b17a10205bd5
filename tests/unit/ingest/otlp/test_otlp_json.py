"""OTLP's JSON is the same request as its protobuf."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from common.errors import BadInput
from ingest.collectors.otlp.decode import json_layout
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.collectors.otlp.decode.json_body import VALUES_MAX, protobuf_of
from ingest.collectors.otlp.decode.json_layout import JsonLayouts
from ingest.collectors.pushed_series import PushedSeries
from tests.unit.ingest.otlp.requests import NOW_NS, RULE, Value, attributes, gauge, in_json, request, total

TEXTS = st.text(max_size=5)
VALUES: st.SearchStrategy[Value] = st.one_of(
    TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False, allow_infinity=False)
)
ATTRIBUTES = st.dictionaries(st.sampled_from(["interface", "tc", "Ä", ""]), VALUES, max_size=3)
TIMES = st.one_of(st.integers(0, 2**63 - 1), st.integers(NOW_NS - 10**9, NOW_NS))
NUMBERS = st.one_of(st.floats(), st.integers(-(2**63), 2**63 - 1))
NAMES = st.sampled_from(["state", "octets", "outside"])


@st.composite
def histograms(draw: st.DrawFn) -> Metric:
    made = Metric(name="depth")
    made.histogram.aggregation_temporality = draw(st.integers(0, 5))  # type: ignore[assignment]
    point = made.histogram.data_points.add(time_unix_nano=draw(TIMES), count=draw(st.integers(0, 2**64 - 1)))
    point.sum = draw(st.floats())
    point.bucket_counts.extend(draw(st.lists(st.integers(0, 2**64 - 1), max_size=3)))
    point.flags = draw(st.integers(0, 1))
    attributes(point, draw(ATTRIBUTES))
    return made


GAUGES = st.builds(
    lambda name, point, at_ns: gauge(name, point, at_ns=at_ns), NAMES, st.tuples(ATTRIBUTES, NUMBERS), TIMES
)
SUMS = st.builds(
    lambda name, labels, value, temporality, at_ns: total(name, labels, value, temporality=temporality, at_ns=at_ns),
    *(NAMES, ATTRIBUTES, st.floats(), st.integers(0, 3), TIMES),
)
REQUESTS = st.builds(
    lambda metrics, device, resource: request(*metrics, device=device, r=resource),
    *(st.lists(st.one_of(GAUGES, SUMS, histograms()), max_size=4), TEXTS, VALUES),
)


def samples(data: bytes) -> Any:
    """All that becomes of a request."""
    series = PushedSeries("tests", (RULE,), 0, series_max=100, targets_max=100)
    decoded = Decoder(series).decode(data, "10.0.0.1", NOW_NS)
    admitted = decoded.admitted
    batches = [
        (batch.table.target, batch.table.device, list(batch.table.keys), batch.times_ns.tolist(), batch.values.tolist())
        for batch in admitted.batches
    ]
    return batches, admitted.dropped, admitted.unmapped, decoded.points, decoded.changes, series.unmapped


def with_numbers(text: str) -> str:
    """64-bit integers as numbers, which senders may write too."""
    return re.sub(r'("(?:timeUnixNano|startTimeUnixNano|asInt|intValue|count)": )"(-?\d+)"', r"\1\2", text)


@settings(max_examples=60, deadline=None)
@given(REQUESTS)
def test_a_request_gives_the_same_samples_in_json_and_in_protobuf(sent: ExportMetricsServiceRequest) -> None:
    text = json_format.MessageToJson(sent)
    read = protobuf_of(text.encode())
    assert repr(samples(read)) == repr(samples(sent.SerializeToString()))
    for written in (with_numbers(text), json.dumps(json.loads(text), ensure_ascii=False)):
        assert protobuf_of(written.encode()) == read


# ---- layouts that come again

NUMBERS_IN_JSON = re.compile(r'("(?:timeUnixNano|asDouble|asInt)": ?)("?)(-?[0-9][^",}\s\]]*)("?)')
INTEGERS = st.one_of(st.integers(0, 2**64), st.integers(-(2**63), 0)).map(str)
TIMES_IN_JSON = st.integers(0, 2**63 + 1).map(str)
DOUBLES = st.one_of(
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.integers(-(10**25), 10**25).map(str),
    st.decimals(allow_nan=False, allow_infinity=False, places=3).map(str),
)
OF_KEY = {"timeUnixNano": TIMES_IN_JSON, "asInt": INTEGERS, "asDouble": DOUBLES}


@st.composite
def repetitions(draw: st.DrawFn) -> list[str]:
    """A request in JSON, and the same with other numbers, with or without quotes."""
    text = json_format.MessageToJson(draw(REQUESTS), indent=draw(st.sampled_from([None, 1])))

    def other(found: re.Match[str]) -> str:
        quote = draw(st.sampled_from(["", '"']))
        key = found[1].split('"')[1]
        return found[1] + quote + draw(OF_KEY[key]) + quote

    return [text, *(NUMBERS_IN_JSON.sub(other, text) for _ in range(4))]


def outcome(read: Callable[[bytes], bytes], text: str) -> bytes | None:
    """What became of a request, written in one way; None for one that was refused."""
    try:
        return bytes(ExportMetricsServiceRequest.FromString(read(text.encode())).SerializeToString())
    except BadInput:
        return None


def test_a_number_that_looks_like_a_place_for_one_stays_what_it_is() -> None:
    """A time of begin, which is part of the layout, with the bits that stand for the number 5,000 of a request."""
    sent = request(total("octets", {}, 1.0))
    point = sent.resource_metrics[0].scope_metrics[0].metrics[0].sum.data_points[0]
    point.start_time_unix_nano = json_layout._WHOLE + 5_000
    layouts = JsonLayouts()
    for value in (1.0, 2.0, 3.0, 4.0):
        point.as_double = value
        assert layouts.protobuf_of(json_format.MessageToJson(sent).encode()) == sent.SerializeToString()
    assert len(layouts) == 1


@settings(max_examples=60, deadline=None)
@given(repetitions())
def test_what_repeats_a_layout_is_what_protobuf_reads(texts: list[str]) -> None:
    layouts = JsonLayouts()
    for text in texts:
        assert outcome(layouts.protobuf_of, text) == outcome(protobuf_of, text)


def test_the_third_request_of_a_layout_is_read_without_protobuf(monkeypatch: pytest.MonkeyPatch) -> None:
    layouts, read = JsonLayouts(), list[bytes]()
    texts = [in_json(request(gauge("state", ({"interface": "swp1"}, n / 7))).SerializeToString()) for n in range(5)]
    expected = [protobuf_of(text) for text in texts]

    def noted(text: bytes) -> bytes:
        read.append(text)
        return protobuf_of(text)

    monkeypatch.setattr(json_layout, "protobuf_of", noted)
    assert [layouts.protobuf_of(text) for text in texts] == expected
    assert (read[:2], len(read)) == (texts[:2], 3)


def test_layouts_that_never_come_again_cost_little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_layout, "LAYOUTS_BYTES_MAX", 20_000)
    monkeypatch.setattr(json_layout, "_SEEN_MAX", 10)
    layouts = JsonLayouts()
    for n in range(300):
        text = in_json(request(gauge("state", ({"interface": f"swp{n}"}, 1.5))).SerializeToString())
        for _ in range(2):
            assert layouts.protobuf_of(text) == protobuf_of(text)
    assert layouts.size <= 20_000
    assert len(layouts) >= 5, "and there are some"


@pytest.mark.parametrize("number", ["01", "-", "+1", "1.", ".5", "1 2", "1a", '"1', "\x01", "0x1", "1e", "", "NaN"])
def test_numbers_that_json_has_not_are_refused_in_a_known_layout_too(number: str) -> None:
    layouts = JsonLayouts()
    frame = '{"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"gauge": {"dataPoints": [{"asDouble": %s}]}}]}]}]}'
    for known in ("1", "2", "3"):
        layouts.protobuf_of((frame % known).encode())
    with pytest.raises(BadInput):
        layouts.protobuf_of((frame % number).encode())


def test_what_is_written_for_other_releases_is_passed_over() -> None:
    """Fields of a newer OTLP, and ids of traces, which are hexadecimal here and base64 elsewhere in protobuf's JSON."""
    plain = json.loads(json_format.MessageToJson(request(gauge("state", ({"interface": "swp1"}, 1)))))
    newer = json.loads(json.dumps(plain))
    newer["new"] = [{"a": 1}]
    metric = newer["resourceMetrics"][0]["scopeMetrics"][0]["metrics"][0]
    metric["new"] = {"b": None}
    exemplar = {"traceId": "5B8EFFF798038103D269B633813FC60C", "spanId": "eee19b7ec3c1b174", "asInt": 3}
    metric["gauge"]["dataPoints"][0] |= {"new": "c", "exemplars": [exemplar]}
    found, expected = (samples(protobuf_of(json.dumps(each).encode())) for each in (newer, plain))
    assert repr(found) == repr(expected)
    assert found[3] == 1


@pytest.mark.parametrize(
    "text", [b"", b"null", b"[]", b"7", b'"a"', b"{", b"\xef\xbb\xbf{}", b'{"resourceMetrics": {}, "a"}']
)
def test_what_is_no_request_is_refused_in_a_short_line(text: bytes) -> None:
    with pytest.raises(BadInput, match="expected an ExportMetricsServiceRequest in JSON") as refused:
        protobuf_of(text)
    assert len(str(refused.value)) <= 300


@pytest.mark.parametrize("value", ["{}", "1", '""', "[]"])
def test_a_small_body_of_many_values_is_refused_before_it_costs_anything(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_format, "Parse", None)  # it is not called
    text = '{"resourceMetrics": [' + ",".join([value] * (VALUES_MAX + 2)) + "]}"
    for read in (protobuf_of, JsonLayouts().protobuf_of):
        with pytest.raises(BadInput, match="at most 200000 values"):
            read(text.encode())
