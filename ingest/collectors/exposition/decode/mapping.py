"""From a source's names to canonical series, once for each new series of a target. Pure.

The catalogue lists the names of a source (``Origin``) and its label rules (``Source``); a scrape job may add origins.
"""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ingest.collectors.exposition.decode.template import CONSTANT, PLAIN
from ingest.collectors.left_out import left_out
from ingest.collectors.name_index import NameIndex
from telemetry.catalogue import Kind, Metric, Origin, Source, metrics
from telemetry.catalogue.own import is_written
from telemetry.series import series_key

UNMAPPED_MAX = 10_000  # of one target: ten times those of the largest page seen
_JOBS = 64  # that share what was made of their source's names
_WORD = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_BRACES = re.compile(r"\{([a-zA-Z_][a-zA-Z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Entry:
    """One source series' part in one canonical series.

    key: the canonical series. scale, bit: see ``finish``. low, high: bounds of the canonical value. saturated: the
    maximum at which a saturating counter stays, NaN for other counters.
    adds: whether parts of several source series add up; else the first series of the body counts.
    part: the source series, of one that adds: a body that has it twice has it once too often.
    kept: a series that nothing maps, under its own name.
    """

    key: str
    scale: float
    bit: int
    low: float
    high: float
    saturated: float
    adds: bool
    part: str = ""
    kept: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    metric: Metric
    origin: Origin
    name: re.Pattern[str] | None
    where: dict[str, frozenset[str]]


class Mapper:
    """Maps the series of one source for one target.

    unmapped: names of which a series was not mapped when it was new, up to ``UNMAPPED_MAX``, without those that the
              catalogue leaves out on purpose.
    identity: labels that every canonical series of the target gets, ``device`` among them; they override the source's.
    origins:  the catalogue's entries for the source, and the job's own.
    keep:     whether series that nothing maps are series under their own name.
    """

    def __init__(
        self,
        source: Source,
        identity: Mapping[str, str],
        origins: Sequence[tuple[Metric, Origin]],
        *,
        keep: bool = False,
    ) -> None:
        self._source, self._identity, self._keep = source, dict(identity), keep
        self._parts = {label: re.compile(pattern) for label, pattern in source.parts.items()}
        self.unmapped: set[str] = set()
        self._left_out = left_out(source.ignored)
        self._rules = _index(tuple(origins))

    def map(self, name: str, labels: Mapping[str, str]) -> list[Entry] | None:
        """The canonical series that this one feeds; [] when nothing maps it, None when it is left out on purpose."""
        found: list[tuple[_Rule, Mapping[str, str]]] = []
        for rule in self._rules.candidates(name):
            if rule.name is None:
                found.append((rule, labels))
            elif matched := rule.name.fullmatch(name):
                found.append((rule, {**labels, **matched.groupdict()}))
        entries = (self._entry(rule, self._with_parts(given), name) for rule, given in found)
        mapped = [entry for entry in entries if entry is not None]
        if mapped:
            return mapped
        on_purpose = self._left_out.match(name)
        if not on_purpose and len(self.unmapped) < UNMAPPED_MAX:
            self.unmapped.add(name)
        if self._keep:
            return self._kept(name, labels)
        return None if on_purpose else []

    def _kept(self, name: str, labels: Mapping[str, str]) -> list[Entry]:
        """The series itself; not where its name means something else, or where stores of before could not hold it."""
        if name in metrics() or is_written(name) or not all(map(_WORD.fullmatch, (name.replace(":", "_"), *labels))):
            return []
        own = {f"exported_{label}" if label in self._identity else label: text for label, text in labels.items()}
        key = series_key(name, {label: text for label, text in own.items() if text} | self._identity)
        return [Entry(key, 1.0, PLAIN, -math.inf, math.inf, math.nan, adds=False, kept=True)]

    def _with_parts(self, labels: Mapping[str, str]) -> dict[str, str]:
        all_labels = dict(labels)
        for label, pattern in self._parts.items():
            matched = pattern.fullmatch(labels.get(label, ""))
            if matched is not None:
                all_labels.update({part: text for part, text in matched.groupdict().items() if text})
        return all_labels

    def _entry(self, rule: _Rule, labels: Mapping[str, str], name: str) -> Entry | None:
        metric, origin = rule.metric, rule.origin
        if any(labels.get(label, "") not in values for label, values in rule.where.items()):
            return None
        canonical = self._labels(metric, origin, labels)
        scale = origin.scale
        if origin.weight:
            scale *= _weight(origin.states, labels.get(origin.weight, ""))
        if canonical is None or not math.isfinite(scale):
            return None
        bit = CONSTANT if metric.kind is Kind.INFO else PLAIN if origin.bit is None else origin.bit
        low = -math.inf if metric.minimum is None else metric.minimum
        high = math.inf if metric.maximum is None else metric.maximum
        saturated = (2.0**metric.saturates - 1.0) * scale if metric.saturates else math.nan
        part = series_key(name, labels) if origin.sum else ""
        return Entry(series_key(metric.name, canonical), scale, bit, low, high, saturated, origin.sum, part)

    def _labels(self, metric: Metric, origin: Origin, labels: Mapping[str, str]) -> dict[str, str] | None:
        """Canonical labels; None when one that names the object is missing."""
        canonical: dict[str, str] = {}
        for label in metric.labels:
            if label in self._identity:
                continue
            if label in origin.labels:
                texts: tuple[str, ...] = (origin.labels[label],)
            else:
                texts = self._source.labels.get(label, ("{" + label + "}",))
            text = next((filled for filled in (_fill(text, labels) for text in texts) if filled is not None), None)
            if text is None:
                return None
            if text:
                canonical[label] = text
        for label, template in self._source.extra.items():
            text = _fill(template, labels)
            if text and label not in self._identity:
                canonical[label] = text
        return canonical | self._identity | self._owner(labels)

    def _owner(self, labels: Mapping[str, str]) -> dict[str, str]:
        """The device that a series names, of a source that speaks for others; nothing for the target's own."""
        texts = (_fill(text, labels) for text in self._source.labels.get("device", ()))
        return next(({"device": text} for text in texts if text), {})


@lru_cache(maxsize=_JOBS)
def _index(origins: tuple[tuple[Metric, Origin], ...]) -> NameIndex[_Rule]:
    """The rules by name, which all targets of a job share: those of node_exporter take 100 KiB."""
    rules = NameIndex[_Rule]()
    for metric, origin in origins:
        where = {label: frozenset(values.split("|")) for label, values in origin.where.items()}
        pattern = _name_pattern(origin.name) if "{" in origin.name else None
        rules.add(origin.name, _Rule(metric, origin, pattern, where))
    return rules


def _name_pattern(name: str) -> re.Pattern[str]:
    pieces = _BRACES.split(name)
    return re.compile(
        "".join(f"(?P<{piece}>[0-9]+)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))
    )


def _fill(text: str, labels: Mapping[str, str]) -> str | None:
    """The text with the source's labels filled in; None when one of them is not there."""
    pieces = _pieces(text)
    if len(pieces) == 1:
        return text
    filled = [labels.get(piece, "") if place % 2 else piece for place, piece in enumerate(pieces)]
    return "".join(filled) if all(filled[1::2]) else None


@lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[str, ...]:
    """Literal, label, literal, …"""
    return tuple(_BRACES.split(text))


def _weight(states: Mapping[str, float], text: str) -> float:
    """What a word or a number in a label multiplies by; NaN for a text that is neither."""
    if states:
        return states.get(text, math.nan)
    try:
        return float(text)
    except ValueError:
        return math.nan
