"""Telemetry messages as Cisco's own protocol files write them, for the tests of the receiver."""

import json
from typing import Any

from google.protobuf import json_format

from ingest.collectors.cisco_mdt.proto.mdt_dialout_pb2 import MdtDialoutArgs
from ingest.collectors.cisco_mdt.proto.telemetry_bis_pb2 import Telemetry, TelemetryField
from tests.samples import SAMPLES

NOW_NS = 1_780_000_000_000_000_000
COUNTERS = "openconfig-interfaces:interfaces/interface/state/counters"
LISTS = ("children", "imdata")
STATISTICS = "ietf-interfaces:interfaces-state/interface/statistics"


def put(into: TelemetryField, name: str, value: Any) -> None:
    """A leaf, a container for a dict, or entries without a name for a list, as NX-OS writes them."""
    made = into.fields.add(name=name)
    match value:
        case dict():
            for key, inner in value.items():
                put(made, key, inner)
        case list():
            for entry in value:
                unnamed = made.fields.add()
                for key, inner in entry.items():
                    put(unnamed, key, inner)
        case bool():
            made.bool_value = value
        case str():
            made.string_value = value
        case int() if value < 0:
            made.sint64_value = value
        case int():
            made.uint64_value = value
        case float():
            made.double_value = value


def message(path: str, *rows: tuple[dict[str, str], dict[str, Any]], at_ns: int = NOW_NS, row_ms: int = 0) -> bytes:
    """Rows of keys and content. row_ms: their own time, 0 for that of the message."""
    made = Telemetry(node_id_str="leaf1", subscription_id_str="1", encoding_path=path, collection_id=7)
    made.msg_timestamp = at_ns // 1_000_000
    for keys, content in rows:
        row = made.data_gpbkv.add(timestamp=row_ms)
        put(row, "keys", keys)
        put(row, "content", content)
    return bytes(made.SerializeToString())


def as_json(path: str, *rows: tuple[dict[str, str], dict[str, Any]], at_ns: int = NOW_NS) -> bytes:
    """The same in JSON, as IOS XR writes it: keys are a list of objects."""
    data = [
        {"timestamp": at_ns // 1_000_000, "keys": [{key: value} for key, value in keys.items()], "content": content}
        for keys, content in rows
    ]
    head = {"node_id_str": "leaf1", "subscription_id_str": "1", "encoding_path": path}
    return json.dumps({**head, "msg_timestamp": at_ns // 1_000_000, "data_json": data}).encode()


def managed(name: str, attributes: dict[str, Any], *children: dict[str, Any]) -> dict[str, Any]:
    """An object of NX-OS' own model. In GPB lists are entries without a name, as NX-OS sends them."""
    below = {"children": list(children)} if children else {}
    return {name: [{"attributes": [attributes], **below}]}


def nxos(path: str, content: Any, at_ns: int = NOW_NS) -> bytes:
    """Objects, or what a command shows, as NX-OS sends them: its row has the path as key, and unnamed content."""
    made = Telemetry(node_id_str="leaf1", subscription_id_str="1", encoding_path=path)
    made.msg_timestamp = at_ns // 1_000_000
    row = made.data_gpbkv.add()
    put(row, "keys", {path: path})
    put(row, "content", content if isinstance(content, list) else [content])
    return bytes(made.SerializeToString())


def nxos_json(path: str, content: Any, at_ns: int = NOW_NS) -> bytes:
    """The same in NX-OS' JSON, where children and several rows are lists, and the time is text."""
    head = {"version_str": "1.0.0", "node_id_str": "leaf1", "encoding_path": path, "subscription_id": "1"}
    return json.dumps({**head, "msg_timestamp": str(at_ns // 1_000_000), "data": _unlisted(content)}).encode()


def _unlisted(value: Any) -> Any:
    if isinstance(value, list):
        return [_unlisted(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    return {name: _unlisted(inner[0] if _is_single(name, inner) else inner) for name, inner in value.items()}


def _is_single(name: str, value: Any) -> bool:
    return name not in LISTS and isinstance(value, list) and len(value) == 1


def microburst(at_ns: int = NOW_NS) -> bytes:
    """The recorded message of a Nexus 9000, at another time."""
    text = (SAMPLES / "cisco" / "nxos_mdt_microburst.json").read_text()
    made = json_format.Parse(text, Telemetry())
    made.msg_timestamp = at_ns // 1_000_000
    return bytes(made.SerializeToString())


def args(data: bytes, total: int = 0) -> bytes:
    return bytes(MdtDialoutArgs(ReqId=1, data=data, totalSize=total).SerializeToString())
