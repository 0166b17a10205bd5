"""An independent reader of remote-write bodies: protobuf's own classes for the public messages, built here."""

from typing import Any

import cramjam
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_MANY, _ONE = _FIELD.LABEL_REPEATED, _FIELD.LABEL_OPTIONAL
_TEXT, _DOUBLE, _INT64, _UINT32 = _FIELD.TYPE_STRING, _FIELD.TYPE_DOUBLE, _FIELD.TYPE_INT64, _FIELD.TYPE_UINT32
_Fields = list[tuple[str, int, int | str, int]]
# prompb/remote.proto and prompb/types.proto of Prometheus; an enumeration is the integer that it is on the wire
_FIRST: dict[str, _Fields] = {
    "WriteRequest": [("timeseries", 1, "TimeSeries", _MANY), ("metadata", 3, "MetricMetadata", _MANY)],
    "TimeSeries": [
        ("labels", 1, "Label", _MANY),
        ("samples", 2, "Sample", _MANY),
        ("exemplars", 3, "Exemplar", _MANY),
        ("histograms", 4, "Histogram", _MANY),
    ],
    "Label": [("name", 1, _TEXT, _ONE), ("value", 2, _TEXT, _ONE)],
    "Sample": [("value", 1, _DOUBLE, _ONE), ("timestamp", 2, _INT64, _ONE)],
    "Exemplar": [("labels", 1, "Label", _MANY), ("value", 2, _DOUBLE, _ONE), ("timestamp", 3, _INT64, _ONE)],
    "Histogram": [("sum", 3, _DOUBLE, _ONE), ("timestamp", 15, _INT64, _ONE)],
    "MetricMetadata": [
        ("type", 1, _UINT32, _ONE),
        ("metric_family_name", 2, _TEXT, _ONE),
        ("help", 4, _TEXT, _ONE),
        ("unit", 5, _TEXT, _ONE),
    ],
}
# prompb/io/prometheus/write/v2/types.proto, with the start of a sample where the specification has it since rc.4
_SECOND: dict[str, _Fields] = {
    "Request": [("symbols", 4, _TEXT, _MANY), ("timeseries", 5, "TimeSeries", _MANY)],
    "TimeSeries": [
        ("labels_refs", 1, _UINT32, _MANY),
        ("samples", 2, "Sample", _MANY),
        ("histograms", 3, "Histogram", _MANY),
        ("exemplars", 4, "Exemplar", _MANY),
        ("metadata", 5, "Metadata", _ONE),
        ("created_timestamp", 6, _INT64, _ONE),
    ],
    "Sample": [("value", 1, _DOUBLE, _ONE), ("timestamp", 2, _INT64, _ONE), ("start_timestamp", 3, _INT64, _ONE)],
    "Exemplar": [("labels_refs", 1, _UINT32, _MANY), ("value", 2, _DOUBLE, _ONE), ("timestamp", 3, _INT64, _ONE)],
    "Histogram": [("sum", 3, _DOUBLE, _ONE), ("timestamp", 15, _INT64, _ONE)],
    "Metadata": [("type", 1, _UINT32, _ONE), ("help_ref", 3, _UINT32, _ONE), ("unit_ref", 4, _UINT32, _ONE)],
}


def _message(package: str, messages: dict[str, _Fields], name: str) -> Any:
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}_test.proto", package=package, syntax="proto3")
    for each, fields in messages.items():
        message = file.message_type.add(name=each)
        for field, number, kind, label in fields:
            is_message = isinstance(kind, str)
            message.field.add(
                name=field,
                number=number,
                type=_FIELD.TYPE_MESSAGE if is_message else kind,
                label=label,
                type_name=f".{package}.{kind}" if is_message else None,
            )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))


WriteRequest = _message("rw", _FIRST, "WriteRequest")
Request = _message("rw2", _SECOND, "Request")

Series = tuple[tuple[tuple[str, str], ...], list[tuple[float, int]]]


def decode(body: bytes) -> list[Series]:
    """Labels in the order of the wire, and (value, milliseconds) of each sample."""
    request = WriteRequest.FromString(bytes(cramjam.snappy.decompress_raw(body)))
    return [
        (
            tuple((label.name, label.value) for label in series.labels),
            [(sample.value, sample.timestamp) for sample in series.samples],
        )
        for series in request.timeseries
    ]


def flat(body: bytes) -> list[tuple[str, float, int]]:
    """One row a sample: metric and labels as text, value, milliseconds."""
    rows = []
    for labels, samples in decode(body):
        names = dict(labels)
        metric = names.pop("__name__")
        text = metric + "".join(f" {name}={value}" for name, value in names.items())
        rows += [(text, value, time_ms) for value, time_ms in samples]
    return rows


def raw(body: bytes) -> bytes:
    """The body before compression."""
    return bytes(cramjam.snappy.decompress_raw(body))
