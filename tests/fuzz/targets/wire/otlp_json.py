"""OTLP requests in JSON: whatever came before, each is what protobuf's own reader makes of it, or refused as there."""

from contextlib import suppress

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from common.errors import BadInput
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.collectors.otlp.decode.json_body import protobuf_of
from ingest.collectors.otlp.decode.json_layout import JsonLayouts
from ingest.collectors.pushed_series import PushedSeries
from tests.unit.ingest.otlp.requests import NOW_NS, RULE, gauge, in_json, request, total

_PORT = {"interface": "swp1"}
SEEDS = (
    in_json(request(gauge("state", (_PORT, 1)), total("octets", _PORT, 7.0)).SerializeToString()),
    b'{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"octets","gauge":{"dataPoints":[{"asDouble":"NaN",'
    b'"attributes":[{"key":"interface","value":{"arrayValue":{"values":[{"intValue":"1"}]}}}],"flags":1,'
    b'"exemplars":[{"traceId":"5b8efff798038103d269b633813fc60c"}]}]}}]}]}]}',
    b'{"resourceMetrics":[{"resource":null,"x":[{"y":1e999}],"scopeMetrics":[{"metrics":[{"sum":'
    b'{"aggregationTemporality":77,"dataPoints":[{"timeUnixNano":1.5,"asInt":99999999999999999999}]}}]}]}]}',
    b"{}",
)


def target(data: bytes) -> None:
    layouts = JsonLayouts()
    for text in (data, data, data, data.replace(b"1", b"2"), data.replace(b"7", b"-")):
        try:
            expected = protobuf_of(text)
        except BadInput:
            with suppress(BadInput):
                raise AssertionError(layouts.protobuf_of(text)) from None
            continue
        serialised = layouts.protobuf_of(text)
        if len(serialised) != len(expected):  # a time of 0 is not written, or is
            serialised, expected = (_written_again(each) for each in (serialised, expected))
        assert serialised == expected
    try:
        serialised = layouts.protobuf_of(data)
    except BadInput:
        return
    series = PushedSeries("fuzz", (RULE,), 0, series_max=20, targets_max=3)
    admitted = Decoder(series).decode(serialised, "sender", NOW_NS).admitted
    assert admitted.received == sum(map(len, admitted.batches)) + admitted.dropped.total()


def _written_again(data: bytes) -> bytes:
    return bytes(ExportMetricsServiceRequest.FromString(data).SerializeToString())
