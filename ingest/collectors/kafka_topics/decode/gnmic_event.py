"""gnmic's event format to gNMI messages of each device.

An event has the values of some paths, whose keys gnmic has taken out: they are tags, named ``<element>_<key>``
(``interface_name``). Back in their places, the paths are those of the catalogue, and what they hold is read as if the
device had sent it.
"""

from collections.abc import Mapping

from common.errors import BadInput
from ingest.collectors.gnmi.paths.elements import without_module
from ingest.collectors.kafka_topics.decode.responses import (
    MALFORMED,
    PATHS_MAX,
    Responses,
    parts_of,
    path_of,
    response_at,
    set_value,
    source_of,
)
from telemetry.gnmi import gnmi_pb2

_Tags = tuple[tuple[str, str], ...]


class EventReader:
    """Remembers the paths of known tags. Not shared between threads."""

    def __init__(self) -> None:
        self._paths: dict[_Tags, dict[str, gnmi_pb2.Path]] = {}
        self._known = 0

    def read(self, message: bytes, into: Responses) -> None:
        """Adds what a message holds: a list of events, or one event. BadInput when it is neither."""
        for event in parts_of(message):
            try:
                into.add(*self._read_event(event))
            except BadInput as error:
                into.dropped[error.reason] += 1

    def _read_event(self, event: object) -> tuple[str, bytes]:
        """Its source, and its values as a SubscribeResponse."""
        if not isinstance(event, dict):
            raise BadInput("expected an event", MALFORMED)
        response, tags = response_at(event.get("timestamp")), event.get("tags")
        values, deletes = event.get("values") or {}, event.get("deletes") or []
        if not isinstance(tags, dict) or not isinstance(values, dict) or not isinstance(deletes, list):
            raise BadInput("expected tags, and values or deletes", MALFORMED)
        source, notification = source_of(tags.get("source")), response.update
        paths = self._paths_of(tags) if values else {}
        for name, value in values.items():
            path = paths.get(name)
            update = notification.update.add()
            update.path.CopyFrom(path if path is not None else self._remember(paths, name, tags))
            set_value(update.val, value)
        notification.delete.extend(path_of(str(name)) for name in deletes)
        return source, response.SerializeToString()

    def _paths_of(self, tags: Mapping[str, object]) -> dict[str, gnmi_pb2.Path]:
        try:
            return self._paths.setdefault(tuple(tags.items()), {})  # type: ignore[arg-type]  # what is no text is no key
        except TypeError:  # a list or an object
            raise BadInput("tags: expected texts", MALFORMED) from None

    def _remember(self, paths: dict[str, gnmi_pb2.Path], name: str, tags: Mapping[str, object]) -> gnmi_pb2.Path:
        if self._known >= PATHS_MAX:
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
    path = path_of(name)
    elems = sorted(path.elem, key=lambda elem: -len(elem.name))
    for tag, value in tags.items():
        for elem in elems:
            element = without_module(elem.name)
            if isinstance(value, str) and tag.startswith(element + "_") and len(tag) > len(element) + 1:
                elem.key[tag[len(element) + 1 :]] = value
                break
    return path
