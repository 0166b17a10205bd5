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
from ingest.collectors.kafka_topics.decode.scan_notifications import scan_notifications
from ingest.collectors.kafka_topics.decode.scanned_reader import ScannedReader
from telemetry.gnmi import gnmi_pb2


class JsonReader(ScannedReader):
    """Remembers devices, and the paths of known texts."""

    def __init__(self) -> None:
        super().__init__()
        self._paths: dict[tuple[str, str], gnmi_pb2.Path] = {}

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
            path, value = _path_and_value(each)
            update = response.update.update.add()
            update.path.CopyFrom(self._path(prefix, path))
            set_value(update.val, value)
        response.update.delete.extend(self._path(prefix, str(path)) for path in deletes)
        if len(self._known.sources) < PATHS_MAX:
            self._known.add_source(orjson.dumps(source)[1:-1], source)
        return source, response.SerializeToString()

    def _scan(self, buf: NDArray[np.uint8], ends: NDArray[np.int64], message: int) -> tuple[int, int, int, int]:
        known = self._known
        return scan_notifications(
            buf, ends, message, *known.tables, known.names_after, known.paths, (*self._values,), (*self._written,)
        )

    def _path(self, prefix: str, text: str) -> gnmi_pb2.Path:
        known = self._paths.get((prefix, text))
        if known is None:
            if len(self._paths) >= PATHS_MAX:
                self._paths, self._known = {}, KnownPaths()
            known = self._paths[prefix, text] = path_of(_joined(prefix, text))
            self._known.add(orjson.dumps(prefix)[1:-1], orjson.dumps(text)[1:-1], known)
        return known


def _joined(prefix: str, text: str) -> str:
    """
    >>> _joined("/junos/interface", "/[name=et-0]/state"), _joined("", "openconfig:/interfaces")
    ('/junos/interface[name=et-0]/state', 'openconfig:/interfaces')
    """
    whole = f"{prefix.rstrip('/')}/{text.lstrip('/')}" if prefix.strip("/") else text
    return whole.replace("/[", "[")  # Junos puts a list's keys into a step of their own


def _path_and_value(update: object) -> tuple[str, object]:
    """``values`` has one value, by the path without its keys."""
    if isinstance(update, Mapping):
        path, values = update.get("Path") or "", update.get("values")
        if isinstance(path, str) and isinstance(values, Mapping) and len(values) == 1:
            return path, next(iter(values.values()))
    raise BadInput("an update: expected Path and one of values", MALFORMED)
