"""What a call of a switch carries: MdtDialoutArgs, whose data is a Telemetry message, whole or in chunks."""

import re

from google.protobuf.message import DecodeError

from ingest.collectors.cisco_mdt.config import DeviceFrom
from ingest.collectors.cisco_mdt.proto.mdt_dialout_pb2 import MdtDialoutArgs
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import Telemetry
from ingest.transport.grpc_messages import CallEnded
from telemetry.samples import DownReason

_NODE_ID = re.compile(rb'"node_id_str"\s*:\s*"([^"\\]{1,255})"')
_NODE_ID_TAG = 0x0A  # field 1 of Telemetry, which every switch writes first


class Chunks:
    """The messages of one call. NX-OS cuts a large one into chunks, which say how long it is together."""

    def __init__(self, device_from: DeviceFrom, bytes_max: int) -> None:
        self._device_from, self._bytes_max = device_from, bytes_max
        self._parts = bytearray()

    def __call__(self, message: bytes) -> tuple[str, bytes] | None:
        """The device, '' for the sender, and a Telemetry message; None until its last chunk, and for one without data.

        CallEnded for what is no MdtDialoutArgs, and for a message above the limit.
        """
        try:
            args = MdtDialoutArgs.FromString(message)
        except DecodeError as error:
            raise CallEnded(DownReason.BAD_FORMAT, f"expected MdtDialoutArgs: {error}") from error
        data = args.data
        if args.totalSize > 0:
            if args.totalSize > self._bytes_max or len(self._parts) + len(data) > args.totalSize:
                raise CallEnded(DownReason.TOO_LARGE, f"a message of {args.totalSize} bytes (limits.message_bytes_max)")
            self._parts += data
            if len(self._parts) < args.totalSize:
                return None
            data = bytes(self._parts)
            self._parts.clear()
        if not data:
            return None
        return (node_id(data) if self._device_from is DeviceFrom.NODE_ID else ""), data


def node_id(data: bytes) -> str:
    """Of a Telemetry message in GPB or JSON; '' where it says none."""
    if data[0] == _NODE_ID_TAG and len(data) > 2 and data[1] < 0x80:
        return data[2 : 2 + data[1]].decode("utf-8", "replace")
    if is_json(data):
        found = _NODE_ID.search(data)
        return found[1].decode("utf-8", "replace") if found else ""
    try:
        return str(Telemetry.FromString(data).node_id_str)
    except DecodeError:
        return ""


def is_json(data: bytes) -> bool:
    """A brace would be the end of a group, which GPB does not have."""
    return data[:1] == b"{"
