"""What a gRPC server says about a call that it does not take now: when to try again."""

import grpc
from google.protobuf.any_pb2 import Any
from google.protobuf.duration_pb2 import Duration

Metadata = tuple[tuple[str, bytes], ...]


def retry_info(code: grpc.StatusCode, message: str, after_s: float) -> Metadata:
    """Trailing metadata that says when to try again: google.rpc.Status with RetryInfo, as OTLP asks for."""
    delay = Duration()
    delay.FromNanoseconds(int(after_s * 1e9))
    info = Any(
        type_url="type.googleapis.com/google.rpc.RetryInfo", value=_field(1, delay.SerializeToString())
    ).SerializeToString()
    status = bytes([0x08, code.value[0]]) + _field(2, message.encode()) + _field(3, info)
    return (("grpc-status-details-bin", status),)


def _field(number: int, data: bytes) -> bytes:
    """A length-delimited field; the messages here are shorter than 16 KiB."""
    size = bytes([len(data)]) if len(data) < 0x80 else bytes([len(data) & 0x7F | 0x80, len(data) >> 7])
    return bytes([number << 3 | 2]) + size + data
