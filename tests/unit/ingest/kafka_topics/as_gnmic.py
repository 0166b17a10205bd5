"""What gnmic makes of a device's message, as ``event.go`` and ``json.go`` in its ``pkg/formatters`` do.

JSON is as Go writes it: without blanks, maps in the order of their keys, structures in that of their fields.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from google.protobuf import json_format, text_format

from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES

SOURCE = "leaf1:57400"
_META = {"source": SOURCE, "subscription-name": "sub1"}


def responses(name: str, time_ns: int) -> list[gnmi_pb2.SubscribeResponse]:
    """Those that a device sent, as of a time."""
    document = json.loads((SAMPLES / "openconfig" / "gnmi_responses" / f"{name}.json").read_text())
    found = [json_format.ParseDict(entry, gnmi_pb2.SubscribeResponse()) for entry in document]
    for response in found:
        response.update.timestamp = time_ns
    return [response for response in found if response.HasField("update")]


def events(response: gnmi_pb2.SubscribeResponse, source: str = SOURCE) -> bytes:
    """One message of the topic."""
    found, meta = [], {**_META, "source": source}
    prefix, prefix_tags = _tags(response.update.prefix)
    for update in response.update.update:
        name, tags = _tags(update.path)
        path = prefix.rstrip("/") + "/" + name.lstrip("/")
        body: dict[str, Any] = {"name": "sub1", "timestamp": response.update.timestamp}
        values = _flat(path, update.val)
        found.append({**body, "tags": _sorted({**prefix_tags, **tags, **meta}), "values": _sorted(values)})
    return _written(found)


def as_json(response: gnmi_pb2.SubscribeResponse, source: str = SOURCE) -> bytes:
    """One message of the topic."""
    updates = [
        {"Path": _xpath(each.path), "values": {"/".join(elem.name for elem in each.path.elem): _plain(each.val)}}
        for each in response.update.update
    ]
    notification = {
        "source": source,
        "subscription-name": "sub1",
        "timestamp": response.update.timestamp,
        "time": _rfc3339(response.update.timestamp),
        "prefix": _xpath(response.update.prefix),
        "target": response.update.prefix.target,
        "updates": updates,
        "deletes": [_xpath(path) for path in response.update.delete],
    }
    return _written({name: value for name, value in notification.items() if value})


def as_proto(response: gnmi_pb2.SubscribeResponse, source: str = SOURCE) -> bytes:
    """One message of the topic, of an output with ``add-target: overwrite``."""
    named = gnmi_pb2.SubscribeResponse()
    named.CopyFrom(response)
    named.update.prefix.target = source
    return named.SerializeToString()


def as_protojson(response: gnmi_pb2.SubscribeResponse, source: str = SOURCE) -> bytes:
    """The same with ``format: protojson``."""
    named = gnmi_pb2.SubscribeResponse.FromString(as_proto(response, source))
    return json_format.MessageToJson(named, indent=None).encode()


def as_prototext(response: gnmi_pb2.SubscribeResponse, source: str = SOURCE) -> bytes:
    """The same with ``format: prototext``."""
    named = gnmi_pb2.SubscribeResponse.FromString(as_proto(response, source))
    return text_format.MessageToString(named).encode()


def _written(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode()


def _sorted(values: Mapping[str, object]) -> dict[str, object]:
    return dict(sorted(values.items()))


def _rfc3339(time_ns: int) -> str:
    """
    >>> _rfc3339(1_700_000_000_120_000_000)
    '2023-11-14T22:13:20.12Z'
    """
    seconds, rest = divmod(time_ns, 10**9)
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%dT%H:%M:%S}" + f".{rest:09}".rstrip("0").rstrip(".") + "Z"


def _xpath(path: gnmi_pb2.Path) -> str:
    steps = (elem.name + "".join(f"[{key}={elem.key[key]}]" for key in sorted(elem.key)) for elem in path.elem)
    return (f"{path.origin}:" if path.origin else "") + "/" + "/".join(steps)


def _plain(typed: gnmi_pb2.TypedValue) -> object:
    kind = typed.WhichOneof("value") or ""
    value = getattr(typed, kind)
    return json.loads(value) if kind in ("json_val", "json_ietf_val") else value


def _tags(path: gnmi_pb2.Path) -> tuple[str, dict[str, str]]:
    text, tags = f"{path.origin}:" if path.origin else "", {}
    for elem in path.elem:
        text += f"/{elem.name}"
        tags.update({f"{elem.name.rpartition(':')[2]}_{key}": value for key, value in elem.key.items()})
    return text, tags


def _flat(path: str, typed: gnmi_pb2.TypedValue) -> Mapping[str, object]:
    kind = typed.WhichOneof("value") or ""
    value = getattr(typed, kind)
    if kind not in ("json_val", "json_ietf_val"):
        return {path: value}
    found: dict[str, object] = {}

    def put(at: str, part: object) -> None:
        if isinstance(part, dict):
            for name, below in part.items():
                put(f"{at}/{name}", below)
        else:
            found[at] = part

    put(path, json.loads(value))
    return found
