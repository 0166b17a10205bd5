"""A request in OTLP's JSON as the same request in protobuf, by protobuf's own reader of JSON."""

from enum import Enum

from google.protobuf import json_format
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from common.errors import BadInput

_EXPECTED = "expected an ExportMetricsServiceRequest in JSON"
_PROBLEM_CHARS_MAX = 300
VALUES_MAX = 200_000
"""Of one request: as many as one of 4 MiB has, whose points are written in full. Each costs microseconds and 50 bytes,
and a request of ``{},{},{}`` would have seven times as many."""


class Encoding(Enum):
    """How the messages of a request and its answer are written. value: their Content-Type."""

    PROTOBUF = "application/x-protobuf"
    JSON = "application/json"


def protobuf_of(text: bytes) -> bytes:
    """An ExportMetricsServiceRequest, serialised. BadInput when the text is none.

    Fields with unknown names are passed over, as OTLP asks for. Beyond what it asks for, names of fields may be written
    as in the messages' definition, and values of enumerations by name. Ids of traces are read as if they were base64:
    nothing is made of them.
    """
    if not text.lstrip().startswith(b"{"):
        raise BadInput(f"{_EXPECTED}: no object", "bad_format")
    if text.count(b",") > VALUES_MAX:
        raise BadInput(f"{_EXPECTED}: of at most {VALUES_MAX} values; send smaller batches", "bad_format")
    try:
        request = json_format.Parse(text, ExportMetricsServiceRequest(), ignore_unknown_fields=True)
    except (json_format.ParseError, UnicodeDecodeError, RecursionError) as error:
        raise BadInput(f"{_EXPECTED}: {error}"[:_PROBLEM_CHARS_MAX], "bad_format") from None
    return bytes(request.SerializeToString())
