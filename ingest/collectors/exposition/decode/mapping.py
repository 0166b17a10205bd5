"""From a source's names to canonical series, once for each new series of a target. Pure.

The catalogue lists the names of a source (``Origin``) and its label rules (``Source``); a scrape job may add origins.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ingest.collectors.base import SourceSeries
from ingest.collectors.exposition.decode.template import CLEAR, CONSTANT, PLAIN
from ingest.collectors.left_out import left_out, why_left_out
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


Pieces = tuple[str, ...]
"""A text with labels in braces: literal, label, literal, …"""
Texts = tuple[Pieces, ...]
"""The first one whose labels are all there is used."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """labels: of the canonical series, in reading order. low, high: bounds of its value."""

    metric: Metric
    origin: Origin
    name: re.Pattern[str] | None
    where: dict[str, frozenset[str]]
    labels: tuple[tuple[str, Texts], ...]
    low: float
    high: float


class Mapper:
    """Maps the series of one source for one target.

    unmapped: names of which a series was not mapped when it was new, up to ``UNMAPPED_MAX``, without those that the
              catalogue leaves out on purpose.
    identity: labels that every canonical series of the target gets, ``device`` among them; they override the source's.
    origins:  the catalogue's entries for the source, and the job's own.
    keep:     whether series that nothing maps are series under their own name.
    named:    what a source that speaks for other devices by GUID calls a device and its port, '' for none; None for one
              that keeps its GUID.
    """

    def __init__(
        self,
        source: Source,
        identity: Mapping[str, str],
        origins: Sequence[tuple[Metric, Origin]],
        *,
        keep: bool = False,
    ) -> None:
        self._identity, self._keep = dict(identity), keep
        self._parts = {label: re.compile(pattern) for label, pattern in source.parts.items()}
        self.unmapped: set[str] = set()
        self._ignored, self._left_out = source.ignored, left_out(source.ignored)
        self._rules = _index(source, tuple(origins))
        self._extra = [(label, _pieces(text)) for label, text in source.extra.items() if label not in identity]
        self._speaks_for = tuple(map(_pieces, source.labels.get("device", ())))
        self.named: Callable[[str, str], tuple[str, str] | None] | None = None

    def may_map(self, name: str) -> bool:
        """Whether a series of this name can be mapped, if its labels fit."""
        return self._keep or any(
            rule.name is None or rule.name.fullmatch(name) for rule in self._rules.candidates(name)
        )

    def map(self, name: str, labels: Mapping[str, str]) -> list[Entry] | None:
        """The canonical series that this one feeds; [] when nothing maps it, None when it is left out on purpose."""
        given, mapped = self._with_parts(labels), []
        for rule in self._rules.candidates(name):
            matched = rule.name.fullmatch(name) if rule.name is not None else None
            if rule.name is not None and matched is None:
                continue
            of_rule = self._with_parts({**labels, **matched.groupdict()}) if matched is not None else given
            if (entry := self._entry(rule, of_rule, name)) is not None:
                mapped.append(entry)
        if mapped:
            return mapped
        on_purpose = self._left_out.match(name)
        if not on_purpose and len(self.unmapped) < UNMAPPED_MAX:
            self.unmapped.add(name)
        if self._keep:
            return self.kept(name, labels)
        return None if on_purpose else []

    def source_series(self, name: str, labels: Mapping[str, str], entries: Sequence[Entry] | None) -> SourceSeries:
        """What became of one series. entries: what ``map`` gave for it."""
        key = series_key(name, labels)
        if entries:
            return SourceSeries(key, tuple(entry.key for entry in entries))
        return SourceSeries(key, reason=self._reason(name, labels), left_out=entries is None)

    def _reason(self, name: str, labels: Mapping[str, str]) -> str:
        """Why ``map`` gives no series for this one, in words."""
        why = why_left_out(self._ignored, name)
        if why is not None:
            return f"left out: {why}"
        known = [rule for rule in self._rules.candidates(name) if rule.name is None or rule.name.fullmatch(name)]
        if not known:
            return "nothing maps this name"
        metrics = ", ".join(sorted({rule.metric.name for rule in known}))
        return f"its labels are not those of {metrics}"

    def kept(self, name: str, labels: Mapping[str, str]) -> list[Entry]:
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
        canonical = self._labels(rule, labels)
        scale = origin.scale
        if origin.weight:
            scale *= _weight(origin.states, labels.get(origin.weight, ""))
        if canonical is None or not math.isfinite(scale):
            return None
        bit = CONSTANT if metric.kind is Kind.INFO else _bit(origin)
        saturated = (2.0**metric.saturates - 1.0) * scale if metric.saturates else math.nan
        part = series_key(name, labels) if origin.sum else ""
        return Entry(series_key(metric.name, canonical), scale, bit, rule.low, rule.high, saturated, origin.sum, part)

    def _labels(self, rule: _Rule, labels: Mapping[str, str]) -> dict[str, str] | None:
        """Canonical labels; None when one that names the object is missing."""
        canonical: dict[str, str] = {}
        for label, texts in rule.labels:
            if label in self._identity:
                continue
            text = _first(texts, labels)
            if text is None:
                return None
            if text:
                canonical[label] = text
        for label, pieces in self._extra:
            if text := _fill(pieces, labels):
                canonical[label] = text
        canonical |= self._identity
        if owner := _first(self._speaks_for, labels):  # of a source that speaks for others
            canonical["device"] = owner
            port = canonical.get("port", "")
            if self.named is not None and (named := self.named(owner, port)) is not None:
                canonical |= {"device": named[0], **({"port": named[1]} if port else {})}
        return canonical


def labels_used(source: Source, origins: Iterable[tuple[Metric, Origin]]) -> set[str]:
    """The labels of a source's series that say what canonical series they feed."""
    texts = [*source.extra.values(), *(text for texts in source.labels.values() for text in texts)]
    used = set(source.parts)
    for metric, origin in origins:
        texts += origin.labels.values()
        used.update(label for label in metric.labels if label not in source.labels and label not in origin.labels)
        used.update(origin.where, [origin.weight] if origin.weight else ())
    return used.union(*(_pieces(text)[1::2] for text in texts))


@lru_cache(maxsize=_JOBS)
def _index(source: Source, origins: tuple[tuple[Metric, Origin], ...]) -> NameIndex[_Rule]:
    """The rules by name, which all targets of a job share: those of node_exporter take 100 KiB."""
    rules = NameIndex[_Rule]()
    for metric, origin in origins:
        where = {label: frozenset(values.split("|")) for label, values in origin.where.items()}
        pattern = _name_pattern(origin.name) if "{" in origin.name else None
        labels = tuple((label, _texts(source, origin, label)) for label in metric.labels)
        low = -math.inf if metric.minimum is None else metric.minimum
        high = math.inf if metric.maximum is None else metric.maximum
        rules.add(origin.name, _Rule(metric, origin, pattern, where, labels, low, high))
    return rules


def _texts(source: Source, origin: Origin, label: str) -> Texts:
    """What a canonical label may be made of: the origin's own text, the source's, or the label of the same name."""
    own = origin.labels.get(label)
    return tuple(map(_pieces, source.labels.get(label, ("{" + label + "}",)) if own is None else (own,)))


def _name_pattern(name: str) -> re.Pattern[str]:
    pieces = _BRACES.split(name)
    return re.compile(
        "".join(f"(?P<{piece}>[0-9]+)" if place % 2 else re.escape(piece) for place, piece in enumerate(pieces))
    )


def _first(texts: Texts, labels: Mapping[str, str]) -> str | None:
    """The first text whose labels are all there; None when there is none."""
    for pieces in texts:
        if (text := _fill(pieces, labels)) is not None:
            return text
    return None


def _fill(pieces: Pieces, labels: Mapping[str, str]) -> str | None:
    """The text with the source's labels filled in; None when one of them is not there."""
    if len(pieces) == 1:
        return pieces[0]
    if len(pieces) == 3 and not (pieces[0] or pieces[2]):  # one label alone, as nearly all are
        return labels.get(pieces[1]) or None
    filled = [labels.get(piece, "") if place % 2 else piece for place, piece in enumerate(pieces)]
    return "".join(filled) if all(filled[1::2]) else None


@lru_cache(maxsize=4096)
def _pieces(text: str) -> Pieces:
    return tuple(_BRACES.split(text))


def _bit(origin: Origin) -> int:
    """Of the value, as readers are given it."""
    if origin.bit is None:
        return PLAIN
    return CLEAR - origin.bit if origin.clear else origin.bit


def _weight(states: Mapping[str, float], text: str) -> float:
    """What a word or a number in a label multiplies by; NaN for a text that is neither."""
    if states:
        return states.get(text, math.nan)
    try:
        return float(text)
    except ValueError:
        return math.nan
