"""Names and attributes of a new series as texts, in the names that the catalogue can use. Used once for each series."""

import re
from collections.abc import Iterable, Iterator

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    ExponentialHistogramDataPoint,
    HistogramDataPoint,
    NumberDataPoint,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from ingest.collectors.otlp.decode.scan import Part

_NO_LABEL_CHAR = re.compile(r"[^a-zA-Z0-9_]")
_SUFFIXES = {Part.COUNT: "_count", Part.SUM: "_sum"}
# Attributes have another field number in each kind of data point: the first byte of their field says which.
_Point = type[NumberDataPoint] | type[HistogramDataPoint] | type[ExponentialHistogramDataPoint]
_POINTS: dict[int, _Point] = {0x4A: HistogramDataPoint, 0x0A: ExponentialHistogramDataPoint}


def resource_labels(data: bytes) -> dict[str, str]:
    """Attributes of a serialised Resource; ``job`` and ``instance`` as Prometheus makes them of a service.

    Source: OpenTelemetry's "Prometheus and OpenMetrics compatibility". DecodeError when it is none.
    """
    found = dict(_labels(Resource.FromString(data).attributes))
    service = [found[name] for name in ("service_namespace", "service_name") if found.get(name)]
    if service:
        found.setdefault("job", "/".join(service))
    if "service_instance_id" in found:
        found.setdefault("instance", found["service_instance_id"])
    return found


def point_labels(data: bytes) -> dict[str, str]:
    """Attributes as a data point of any kind holds them, with their field numbers. DecodeError when they are none."""
    point: _Point = _POINTS.get(data[0] if data else 0, NumberDataPoint)
    return dict(_labels(point.FromString(data).attributes))


def metric_name(data: bytes, part: int) -> str:
    """The name that a row of this part has: those of histograms and summaries end as in Prometheus."""
    return data.decode("utf-8", "replace") + _SUFFIXES.get(Part(part), "")


def label_name(key: str) -> str:
    """
    >>> label_name("host.name"), label_name("2nd")
    ('host_name', '_2nd')
    """
    name = _NO_LABEL_CHAR.sub("_", key)
    return f"_{name}" if name[:1].isdigit() else name


def _labels(attributes: Iterable[KeyValue]) -> Iterator[tuple[str, str]]:
    for attribute in attributes:
        yield label_name(attribute.key), _text(attribute.value)


def _text(value: AnyValue) -> str:
    """Numbers as they are written: Cumulus sends a queue as text in gauges and as an integer in histograms."""
    kind = value.WhichOneof("value")
    if kind == "string_value":
        return value.string_value
    if kind == "bool_value":
        return "true" if value.bool_value else "false"
    if kind == "int_value":
        return str(value.int_value)
    if kind == "double_value":
        return f"{value.double_value:g}"
    return ""  # lists and bytes name no object
