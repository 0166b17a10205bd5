"""An independent reader of remote-write bodies: protobuf's own classes for the public messages, built here."""

from typing import Any

import cramjam
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_MESSAGES: dict[str, list[tuple[str, int, int, str]]] = {
    "WriteRequest": [("timeseries", 1, _FIELD.TYPE_MESSAGE, "TimeSeries")],
    "TimeSeries": [("labels", 1, _FIELD.TYPE_MESSAGE, "Label"), ("samples", 2, _FIELD.TYPE_MESSAGE, "Sample")],
    "Label": [("name", 1, _FIELD.TYPE_STRING, ""), ("value", 2, _FIELD.TYPE_STRING, "")],
    "Sample": [("value", 1, _FIELD.TYPE_DOUBLE, ""), ("timestamp", 2, _FIELD.TYPE_INT64, "")],
}


def _write_request() -> Any:
    file = descriptor_pb2.FileDescriptorProto(name="remote_write_test.proto", package="rw", syntax="proto3")
    for name, fields in _MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, of in fields:
            label = _FIELD.LABEL_REPEATED if of else _FIELD.LABEL_OPTIONAL
            message.field.add(name=field, number=number, type=kind, label=label, type_name=f".rw.{of}" if of else None)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("rw.WriteRequest"))


WriteRequest = _write_request()

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
