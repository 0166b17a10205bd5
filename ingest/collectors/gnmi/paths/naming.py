"""From a path to the canonical series: the catalogue's gNMI origins as an index. Asked once a path, then remembered."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ingest.collectors.gnmi.paths.elements import Element, Elements, parse_path
from telemetry.catalogue import Metric, Origin, origins_of

_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Named:
    """What a path means. labels: without the identity of the device; they come from the path and the catalogue."""

    metric: Metric
    origin: Origin
    labels: Mapping[str, str]


Text = str | re.Pattern[str]
"""A name or a key's value: fixed, or with labels."""


@dataclass(frozen=True, slots=True)
class Template:
    """A path with labels in braces, ``interfaces/interface[name={port}]/state``, compiled."""

    steps: tuple[tuple[Text, tuple[tuple[str, Text], ...]], ...]

    @classmethod
    def of(cls, text: str) -> "Template":
        elems = parse_path(text).elem
        return cls(tuple((_text(e.name), tuple((key, _text(value)) for key, value in e.key.items())) for e in elems))

    @property
    def last(self) -> str | None:
        """The last step's name when it holds no label."""
        name = self.steps[-1][0]
        return name if isinstance(name, str) else None

    def match(self, elements: Elements) -> dict[str, str] | None:
        """The labels, or None when the path is another one."""
        if len(elements) != len(self.steps):
            return None
        labels: dict[str, str] = {}
        for (name, keys), (expected, expected_keys) in zip(elements, self.steps, strict=True):
            if not _matches(name, expected, labels):
                return None
            if expected_keys:
                values = dict(keys)
                for key, text in expected_keys:
                    if not _matches(values.get(key, ""), text, labels):
                        return None
        return labels


def _matches(text: str, expected: Text, labels: dict[str, str]) -> bool:
    """Whether they agree; adds the labels."""
    if isinstance(expected, str):
        return text == expected
    found = expected.fullmatch(text)
    if found is not None:
        labels.update(found.groupdict())
    return found is not None


class Naming:
    """All that targets of some sources can report.

    key_names: the keys of each list, by the list's name: what tells the entries of a JSON list apart.
    """

    def __init__(self, sources: Iterable[str]) -> None:
        self._by_last: dict[str | None, list[tuple[Template, Metric, Origin]]] = defaultdict(list)
        self.key_names: dict[str, set[str]] = {name: set(keys) for name, keys in _LISTS.items()}
        for source in sources:
            for metric, origin in origins_of(source):
                template = Template.of(origin.name)
                self._by_last[template.last].append((template, metric, origin))
                for elem in parse_path(origin.name).elem:
                    self.key_names.setdefault(elem.name, set()).update(elem.key)

    def name(self, elements: Elements) -> Named | None:
        """None for a path that the catalogue does not know."""
        last: Element = elements[-1] if elements else ("", ())
        for template, metric, origin in (*self._by_last.get(last[0], ()), *self._by_last.get(None, ())):
            labels = template.match(elements)
            if labels is not None:
                return Named(metric, origin, {**origin.labels, **labels})
        return None


# Lists whose entries hold no metric but lead to one, or to topology.
_LISTS = {
    "interface": ("name", "interface-id"),
    "neighbor": ("neighbor-address", "id"),
    "protocol": ("identifier", "name"),
    "network-instance": ("name",),
    "component": ("name",),
    "queue": ("name",),
    "channel": ("index",),
    "priority": ("index",),
}


def _text(text: str) -> Text:
    """``{port}:{queue}`` as a pattern. A label that fills a step may be any text, inside a step it ends at a colon."""
    parts = _PLACE.split(text)
    if len(parts) == 1:
        return text
    anything = ".+" if len(parts) == 3 and not parts[0] and not parts[2] else "[^:]+"
    pattern = ""
    for i, part in enumerate(parts):
        if i % 2 == 0:
            pattern += re.escape(part)
        elif part == "_":
            pattern += anything
        else:
            pattern += f"(?P<{part}>{'[0-9]+' if part in _NUMBERS and anything != '.+' else anything})"
    return re.compile(pattern)


_NUMBERS = frozenset({"queue", "pg", "priority", "lane"})
