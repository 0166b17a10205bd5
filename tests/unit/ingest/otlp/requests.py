"""ExportMetricsServiceRequests as the official messages write them, for the tests of the receiver."""

from collections.abc import Mapping

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

from ingest.collectors.otlp.config import OtlpRule

NOW_NS = 1_780_000_000_000_000_000
RULE = OtlpRule.model_validate(
    {
        "source": "tests",
        "mapping": [
            {"name": "octets", "metric": "fabric_port_receive_bytes_total", "labels": {"port": "{interface}"}},
            {"name": "state", "metric": "fabric_port_up", "labels": {"port": "{interface}"}},
            {"name": "depth_count", "metric": "fabric_port_flaps_total", "labels": {"port": "{interface}"}},
            {"name": "depth_sum", "metric": "fabric_port_transmit_bytes_total", "labels": {"port": "{interface}"}},
        ],
    }
)

Value = str | int | float | bool


def attributes(into: object, values: Mapping[str, Value]) -> None:
    for key, value in values.items():
        made: KeyValue = into.attributes.add(key=key)  # type: ignore[attr-defined]
        match value:
            case bool():
                made.value.bool_value = value
            case str():
                made.value.string_value = value
            case int():
                made.value.int_value = value
            case float():
                made.value.double_value = value


def gauge(name: str, *points: tuple[Mapping[str, Value], int | float], at_ns: int = NOW_NS) -> Metric:
    made = Metric(name=name, unit="1", description="of a test")
    for labels, value in points:
        point = made.gauge.data_points.add(time_unix_nano=at_ns)
        if isinstance(value, int):
            point.as_int = value
        else:
            point.as_double = value
        attributes(point, labels)
    return made


def total(name: str, labels: Mapping[str, Value], value: float, *, temporality: int = 2, at_ns: int = NOW_NS) -> Metric:
    made = Metric(name=name)
    made.sum.aggregation_temporality = temporality  # type: ignore[assignment]
    made.sum.is_monotonic = True
    point = made.sum.data_points.add(start_time_unix_nano=1, time_unix_nano=at_ns, as_double=value)
    attributes(point, labels)
    return made


def request(*metrics: Metric, device: str = "leaf1", **resource: Value) -> ExportMetricsServiceRequest:
    made = ExportMetricsServiceRequest()
    of_device = made.resource_metrics.add()
    attributes(of_device.resource, {"host.name": device, **resource} if device else resource)
    scope = of_device.scope_metrics.add()
    scope.scope.name = "tests"
    scope.metrics.extend(metrics)
    return made


def in_json(data: bytes) -> bytes:
    """A serialised request as the SDKs write it in JSON."""
    return json_format.MessageToJson(ExportMetricsServiceRequest.FromString(data), indent=None).encode()


def response_of(data: bytes) -> ExportMetricsServiceResponse:
    return ExportMetricsServiceResponse.FromString(data)
