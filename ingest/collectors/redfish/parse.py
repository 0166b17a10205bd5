"""From Redfish resources to named samples (DMTF DSP0266, DSP0268). Pure.

A number becomes a sample ``<resource>/<path>``, as ``Thermal/Temperatures/ReadingCelsius`` or
``PowerSupplyMetrics/InputPowerWatts/Reading``. Its labels are the texts beside it and above it, those nearest first. A
word of a state is a sample of 1 with the word as a label. What stands under ``Oem`` is each vendor's own, and left out.
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from common.errors import BadInput
from ingest.collectors.canonical_samples import SourceSample

Document = Mapping[str, Any]

ROOT = "/redfish/v1"
_DEPTH_MAX = 12
_TEXT_CHARS_MAX = 256
_STATES = frozenset({"Health", "State", "PowerState"})
_LEFT_OUT = frozenset({"Oem", "Actions", "Links", "RelatedItem", "RelatedItems", "Redundancy", "Assembly"})


def parse_document(body: bytes, path: str) -> Document:
    """BadInput when it is no JSON object."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise BadInput(f"{path}: {error}", "bad_format") from error
    if not isinstance(found, dict):
        raise BadInput(f"{path}: expected a JSON object", "bad_format")
    return found


def link(document: Document, name: str) -> str:
    """Path of the resource that a property refers to; '' when there is none."""
    return path_of(document.get(name))


def path_of(value: object) -> str:
    """The path in ``{"@odata.id": path}``; '' for anything that is not on the controller itself: what it refers to
    elsewhere must not be sent its credentials."""
    path = value.get("@odata.id") if isinstance(value, dict) else value
    is_own = isinstance(path, str) and (path.rstrip("/") == ROOT or path.startswith(ROOT + "/"))
    return str(path).partition("#")[0] if is_own and len(str(path)) <= 1024 else ""


def members(document: Document) -> list[tuple[str, Document | None]]:
    """Path of each member of a collection, and its content where the collection was expanded."""
    found = document.get("Members")
    if not isinstance(found, list):
        return []
    paths = [(path_of(one), one) for one in found]
    return [(path, one if len(one) > 1 else None) for path, one in paths if path]


def next_page(document: Document) -> str:
    """Path of the next page of a collection; '' on the last one (DSP0266 7.5.3). Without ``Members`` in front as DMTF's
    mockups and older controllers have it."""
    return path_of(document.get("Members@odata.nextLink")) or path_of(document.get("@odata.nextLink"))


def can_expand(root: Document) -> bool:
    """Whether a collection can be asked for with its members (DSP0266 7.3.4)."""
    features = root.get("ProtocolFeaturesSupported")
    query = features.get("ExpandQuery") if isinstance(features, dict) else None
    return isinstance(query, dict) and query.get("NoLinks") is True and query.get("Levels") is True


def samples_of(kind: str, document: Document, labels: Mapping[str, str]) -> list[SourceSample]:
    """kind: of the resource, as ``Thermal``. labels: added to each sample. BadInput for one that is too deep."""
    return list(_samples(kind, document, labels, _DEPTH_MAX))


def sensor_paths(document: Document) -> set[str]:
    """Sensors whose readings the resource repeats."""
    found: set[str] = set()
    left: list[Any] = [document]
    while left:
        value = left.pop()
        if isinstance(value, dict):
            left += value.values()
            if path := path_of(value.get("DataSourceUri")):
                found.add(path)
        elif isinstance(value, list):
            left += value
    return found


def _samples(name: str, document: Document, above: Mapping[str, str], depth: int) -> Iterator[SourceSample]:
    if not depth:
        raise BadInput(f"{name[:80]}: more than {_DEPTH_MAX} levels", "bad_format")
    labels = {**above, **_texts(document)}
    for key, value in document.items():
        if key in _LEFT_OUT or "@" in key:
            continue
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            yield SourceSample(f"{name}/{key}", labels, float(value))
        elif value is None and key not in _STATES:
            yield SourceSample(f"{name}/{key}", labels, math.nan)
        elif isinstance(value, str) and key in _STATES:
            yield SourceSample(f"{name}/{key}", labels, 1.0)
        elif isinstance(value, dict):
            yield from _samples(f"{name}/{key}", value, labels, depth - 1)
        elif isinstance(value, list):
            for place, item in enumerate(value):
                if isinstance(item, dict):
                    yield from _samples(f"{name}/{key}", item, {**labels, "index": str(place)}, depth - 1)


def _texts(document: Document) -> dict[str, str]:
    """Its short texts; ``source``: the id of the sensor that a reading is of."""
    found = {
        key: value.strip()
        for key, value in document.items()
        if isinstance(value, str) and "@" not in key and len(value) <= _TEXT_CHARS_MAX
    }
    if source := path_of(found.get("DataSourceUri")):
        found["source"] = source.rpartition("/")[2]
    return found
