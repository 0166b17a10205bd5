"""Paths with labels in braces, as the catalogue writes them, matched against paths of messages."""

import re
from dataclasses import dataclass

from ingest.collectors.gnmi.paths.elements import Elements, parse_path

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_NUMBERS = frozenset({"queue", "pg", "priority", "lane", "bin", "color"})
"""Labels that are digits where they are a part of a step."""

Text = str | re.Pattern[str]
"""A name or a key's value: fixed, or with labels."""


@dataclass(frozen=True, slots=True)
class PathPattern:
    """A path with labels in braces, ``interfaces/interface[name={port}]/state``, compiled."""

    steps: tuple[tuple[Text, tuple[tuple[str, Text], ...]], ...]

    @classmethod
    def of(cls, text: str) -> "PathPattern":
        elems = parse_path(text).elem
        return cls(tuple((_text(e.name), tuple((key, _text(value)) for key, value in e.key.items())) for e in elems))

    def match(self, elements: Elements) -> dict[str, str] | None:
        """The labels, or None when the path does not match."""
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
    """Whether the text matches; adds the labels that it holds."""
    if isinstance(expected, str):
        return text == expected
    found = expected.fullmatch(text)
    if found is not None:
        labels.update(found.groupdict())
    return found is not None


def _text(text: str) -> Text:
    """``{port}:{queue}`` as a pattern. A label that fills a step may be any text; a part of a step ends at a colon."""
    parts = _PLACEHOLDER.split(text)
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
