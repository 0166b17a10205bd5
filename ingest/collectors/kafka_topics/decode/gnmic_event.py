"""gnmic's event format to gNMI messages of each device.

An event has the values of some paths, whose keys gnmic has taken out: they are tags, named ``<element>_<key>``
(``interface_name``). Back in their places, the paths are those of the catalogue, and what they hold is read as if the
device had sent it.
"""

from collections.abc import Mapping

import numpy as np
import orjson
from numpy.typing import NDArray

from common.errors import BadInput
from ingest.collectors.gnmi.paths.elements import without_module
from ingest.collectors.kafka_topics.decode.known_paths import KnownPaths
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
from ingest.collectors.kafka_topics.decode.scan_events import TAGS, VALUES, scan_events
from ingest.collectors.kafka_topics.decode.scanned_reader import ScannedReader
from telemetry.gnmi import gnmi_pb2

_Tags = tuple[tuple[str, str], ...]


class EventReader(ScannedReader):
    """Remembers the paths of known tags."""

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[_Tags, dict[str, gnmi_pb2.Path]] = {}

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
        if len(self._known) >= PATHS_MAX:
            self._paths, self._known = {}, KnownPaths()
        path = paths[name] = keyed_path(name, tags)
        source = source_of(tags.get("source"))
        number = self._known.add_source(source.encode(), source)
        self._known.add(TAGS + orjson.dumps(tags) + VALUES, 0, orjson.dumps(name) + b":", path, number)
        return path

    def _scan(self, buf: NDArray[np.uint8], ends: NDArray[np.int64], message: int) -> tuple[int, int, int, int]:
        known = self._known
        _, heads, names = known.tables
        arrays = known.source_of, known.names_after, (*self._updates,), self._parts
        return scan_events(buf, ends, message, heads, names, *arrays)


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
