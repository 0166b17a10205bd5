"""From a path to the canonical series: an index of the catalogue's gNMI origins. Used once for each path."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from ingest.collectors.gnmi.paths.cisco_ports import long_name
from ingest.collectors.gnmi.paths.elements import Element, Elements, parse_path
from ingest.collectors.gnmi.paths.pattern import PathPattern
from ingest.collectors.left_out import ignored_by, left_out_by
from ingest.collectors.name_index import NameIndex
from telemetry.catalogue import Metric, Origin, origins_of

_PLACE = re.compile(r"\{(\w+)\}")

# Lists whose entries hold no metric themselves but contain one, or metadata.
_LIST_KEYS = {
    "interface": ("name", "interface-id"),
    "neighbor": ("neighbor-address", "id"),
    "protocol": ("identifier", "name"),
    "network-instance": ("name",),
    "component": ("name",),
    "queue": ("name",),
    "channel": ("index",),
    "priority": ("index",),
}


@dataclass(frozen=True, slots=True)
class Named:
    """The metric of a path. labels: from the path and the catalogue, without the device's identity.

    kept: nothing maps the path, and it keeps its own name.
    """

    metric: Metric
    origin: Origin
    labels: Mapping[str, str]
    kept: bool = False


class Naming:
    """All that targets of some sources can report.

    key_names: the keys of each list by the list's name; they identify the entries of a JSON list.
    left_out: paths, without the objects that they are of, that these sources' files leave out on purpose. ignored: why.
    kept_max: series of one target under their own name, of paths that nothing maps.
    port_name: the name of a port in labels and in facts, from that in a path.
    """

    def __init__(self, sources: Iterable[str], kept_max: int = 0) -> None:
        sources = tuple(sources)
        self.kept_max = kept_max
        self.left_out, self.ignored = left_out_by(sources), ignored_by(sources)
        self.port_name: Callable[[str], str] = long_name if "cisco" in sources else str
        self._by_last_step = NameIndex[tuple[PathPattern, Metric, Origin]]()
        self.key_names: dict[str, set[str]] = {name: set(keys) for name, keys in _LIST_KEYS.items()}
        for source in sources:
            for metric, origin in origins_of(source):
                steps = parse_path(origin.name).elem
                self._by_last_step.add(steps[-1].name, (PathPattern.of(origin.name), metric, origin))
                for elem in filter(lambda step: step.key, steps):
                    self.key_names.setdefault(elem.name, set()).update(elem.key)

    def name(self, elements: Elements) -> Named | None:
        """None for a path outside the catalogue."""
        last: Element = elements[-1] if elements else ("", ())
        for pattern, metric, origin in self._by_last_step.candidates(last[0]):
            labels = pattern.match(elements)
            if labels is not None:
                return Named(metric, origin, self._labels(metric, origin, labels))
        return None

    def _labels(self, metric: Metric, origin: Origin, found: dict[str, str]) -> dict[str, str]:
        """What the path holds, and what the catalogue adds, which may be made of that: ``{slot} sensor {number}``."""
        if "port" in found:
            found["port"] = self.port_name(found["port"])
        if not any("{" in text for text in origin.labels.values()):
            return {**origin.labels, **found}
        made = {
            name: _PLACE.sub(lambda place: found.get(place[1], place[0]), text) for name, text in origin.labels.items()
        }
        return {**{name: value for name, value in found.items() if name in metric.labels}, **made}
