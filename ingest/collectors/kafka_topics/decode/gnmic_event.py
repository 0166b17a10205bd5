"""gnmic's event format to gNMI messages of each device.

An event has the values of some paths, whose keys gnmic has taken out: they are tags, named ``<element>_<key>``
(``interface_name``). Back in their places, the paths are those of the catalogue, and what they hold is read as if the
device had sent it.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from common.errors import BadInput, ConfigError
from ingest.collectors.gnmi.paths.elements import parse_path, without_module
from telemetry.gnmi import gnmi_pb2

MALFORMED, NO_SOURCE = "malformed", "no_source"
_PATHS_MAX = 500_000  # that are remembered; beyond it all are forgotten
_INT_MIN, _INT_MAX, _UINT_MAX = -(2**63), 2**63 - 1, 2**64 - 1
_ORIGIN = re.compile(r"/[\w-]+:/")  # gnmic puts a slash before the origin
_Tags = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class Events:
    """What some messages hold. by_source: serialised SubscribeResponses of each source, in their order.

    dropped: events that are of no use, by reason.
    """

    by_source: dict[str, list[bytes]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)


class EventReader:
    """Remembers the paths of known tags. Not shared between threads."""

    def __init__(self) -> None:
        self._paths: dict[_Tags, dict[str, gnmi_pb2.Path]] = {}
        self._known = 0

    def read(self, message: bytes, into: Events) -> None:
        """Adds what a message holds: a list of events, or one event. BadInput when it is neither."""
        try:
            document = orjson.loads(message)
        except orjson.JSONDecodeError as error:
            raise BadInput(f"expected JSON: {error}", MALFORMED) from None
        if isinstance(document, dict):
            document = [document]
        if not isinstance(document, list):
            raise BadInput("expected a list of events", MALFORMED)
        for event in document:
            try:
                source, response = self._read_event(event)
            except BadInput as error:
                into.dropped[error.reason] += 1
            else:
                into.by_source.setdefault(source, []).append(response)

    def _read_event(self, event: object) -> tuple[str, bytes]:
        """Its source, and its values as a SubscribeResponse."""
        if not isinstance(event, dict):
            raise BadInput("expected an event", MALFORMED)
        time_ns, tags = event.get("timestamp"), event.get("tags")
        values, deletes = event.get("values") or {}, event.get("deletes") or []
        if type(time_ns) is not int or not 0 < time_ns <= _INT_MAX:
            raise BadInput("timestamp: expected nanoseconds", MALFORMED)
        if not isinstance(tags, dict) or not isinstance(values, dict) or not isinstance(deletes, list):
            raise BadInput("expected tags, and values or deletes", MALFORMED)
        source = tags.get("source")
        if not source or not isinstance(source, str):
            raise BadInput("tags: expected source", NO_SOURCE)
        response = gnmi_pb2.SubscribeResponse()
        notification = response.update
        notification.timestamp = time_ns
        paths = self._paths_of(tags) if values else {}
        for name, value in values.items():
            path = paths.get(name)
            update = notification.update.add()
            update.path.CopyFrom(path if path is not None else self._remember(paths, name, tags))
            _set_value(update.val, value)
        notification.delete.extend(_path(str(name)) for name in deletes)
        return source, response.SerializeToString()

    def _paths_of(self, tags: Mapping[str, object]) -> dict[str, gnmi_pb2.Path]:
        try:
            return self._paths.setdefault(tuple(tags.items()), {})  # type: ignore[arg-type]  # what is no text is no key
        except TypeError:  # a list or an object
            raise BadInput("tags: expected texts", MALFORMED) from None

    def _remember(self, paths: dict[str, gnmi_pb2.Path], name: str, tags: Mapping[str, object]) -> gnmi_pb2.Path:
        if self._known >= _PATHS_MAX:
            self._paths, self._known = {}, 0
        self._known += 1
        path = paths[name] = keyed_path(name, tags)
        return path


def keyed_path(name: str, tags: Mapping[str, object]) -> gnmi_pb2.Path:
    """A path with the keys that gnmic took out of it. Of two elements that fit a tag, it is the longer one's.

    >>> path = keyed_path("/interfaces/interface/state", {"interface_name": "Ethernet1", "source": "leaf1"})
    >>> [(elem.name, dict(elem.key)) for elem in path.elem]
    [('interfaces', {}), ('interface', {'name': 'Ethernet1'}), ('state', {})]
    """
    path = _path(name)
    elems = sorted(path.elem, key=lambda elem: -len(elem.name))
    for tag, value in tags.items():
        for elem in elems:
            element = without_module(elem.name)
            if isinstance(value, str) and tag.startswith(element + "_") and len(tag) > len(element) + 1:
                elem.key[tag[len(element) + 1 :]] = value
                break
    return path


def _path(text: str) -> gnmi_pb2.Path:
    try:
        return parse_path(text.removeprefix("/") if _ORIGIN.match(text) else text)
    except ConfigError as error:
        raise BadInput(str(error), MALFORMED) from None


def _set_value(typed: gnmi_pb2.TypedValue, value: object) -> None:
    if isinstance(value, str):
        typed.string_val = value
    elif isinstance(value, bool):
        typed.bool_val = value
    elif isinstance(value, float):
        typed.double_val = value
    elif isinstance(value, int) and _INT_MIN <= value <= _INT_MAX:
        typed.int_val = value
    elif isinstance(value, int) and 0 <= value <= _UINT_MAX:
        typed.uint_val = value
    else:
        typed.json_val = orjson.dumps(value)
