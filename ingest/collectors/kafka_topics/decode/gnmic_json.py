"""gnmic's JSON format, one notification a message, to gNMI messages of each device."""

from collections.abc import Mapping

import numpy as np
import orjson
from numpy.typing import NDArray

from common.errors import BadInput
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
from ingest.collectors.kafka_topics.decode.scan_notifications import COLON, PATH, VALUES, scan_notifications
from ingest.collectors.kafka_topics.decode.scanned_reader import ScannedReader
from telemetry.gnmi import gnmi_pb2


class JsonReader(ScannedReader):
    """Remembers the paths of known texts, and which of them are of which device."""

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[tuple[str, str, str], tuple[int, gnmi_pb2.Path]] = {}  # numbered in the order of the dict
        self._paths_of: dict[str, set[int]] = {}

    def read(self, message: bytes, into: Responses) -> None:
        """Adds what a message holds: a notification, or a list of them. BadInput when it is neither."""
        for part in parts_of(message):
            if isinstance(part, dict) and "sync-response" in part:
                continue
            try:
                into.add(*self._read_notification(part))
            except BadInput as error:
                into.dropped[error.reason] += 1

    def _read_notification(self, part: object) -> tuple[str, bytes]:
        """Its source, and its values as a SubscribeResponse."""
        if not isinstance(part, dict):
            raise BadInput("expected a notification", MALFORMED)
        response = response_at(part.get("timestamp"))
        source, prefix = source_of(part.get("source")), part.get("prefix") or ""
        updates, deletes = part.get("updates") or [], part.get("deletes") or []
        if not isinstance(prefix, str) or not isinstance(updates, list) or not isinstance(deletes, list):
            raise BadInput("expected updates or deletes, and a path as prefix", MALFORMED)
        for each in updates:
            path, key, value = _path_and_value(each)
            update = response.update.update.add()
            update.path.CopyFrom(self._path(source, prefix, path, key))
            set_value(update.val, value)
        response.update.delete.extend(path_of(_joined(prefix, str(path))) for path in deletes)
        return source, response.SerializeToString()

    def _scan(self, buf: NDArray[np.uint8], ends: NDArray[np.int64], message: int) -> tuple[int, int, int, int]:
        known = self._known
        arrays = known.names_after, (*self._updates,), self._parts
        return scan_notifications(buf, ends, message, *known.tables, *arrays)

    def _path(self, source: str, prefix: str, text: str, key: str) -> gnmi_pb2.Path:
        known = self._paths.get((prefix, text, key))
        if known is None:
            known = self._paths[prefix, text, key] = len(self._paths), path_of(_joined(prefix, text))
        number, path = known
        if number not in self._paths_of.setdefault(source, set()):
            self._remember(source, prefix, text, key)
        return path

    def _remember(self, source: str, prefix: str, text: str, key: str) -> None:
        """A path of a device, which names it by these texts."""
        if len(self._known) >= PATHS_MAX:
            self._paths = {(prefix, text, key): (0, self._paths[prefix, text, key][1])}
            self._paths_of, self._known = {source: set()}, KnownPaths()
        number, path = self._paths[prefix, text, key]
        self._paths_of[source].add(number)
        of, below, called = (orjson.dumps(each)[1:-1] for each in (source, prefix, text))
        device = self._known.add_source(of, source)
        written = PATH + called + VALUES + orjson.dumps(key)[1:-1] + COLON
        self._known.add(below, device, written, path, device)


def _joined(prefix: str, text: str) -> str:
    """
    >>> _joined("/junos/interface", "/[name=et-0]/state"), _joined("", "openconfig:/interfaces")
    ('/junos/interface[name=et-0]/state', 'openconfig:/interfaces')
    """
    whole = f"{prefix.rstrip('/')}/{text.lstrip('/')}" if prefix.strip("/") else text
    return whole.replace("/[", "[")  # Junos puts a list's keys into a step of their own


def _path_and_value(update: object) -> tuple[str, str, object]:
    """``values`` has one value, by a key: the path without its keys."""
    if isinstance(update, Mapping):
        path, values = update.get("Path") or "", update.get("values")
        if isinstance(path, str) and isinstance(values, Mapping) and len(values) == 1:
            return path, *next(iter(values.items()))
    raise BadInput("an update: expected Path and one of values", MALFORMED)
