"""Which source a pushed series is of, which device, and what it is in the catalogue. Pure.

Asked once for each source series, when it is new.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import numpy as np
from numpy.typing import NDArray

from ingest.collectors.exposition.decode.mapping import Entry, Mapper
from ingest.collectors.exposition.relabel import relabel
from ingest.collectors.pushed_rule import PushedRule

_NO_CHAR = re.compile(r"[^a-zA-Z0-9_:]")  # of a name in all stores, as OpenTelemetry's have dots
_EXPORTED = "exported_"  # Prometheus renames a label so that the target's of the same name can stand beside it


@dataclass(frozen=True, slots=True)
class Identity:
    """Whose a series is. rule: its number; target: its name without the job; labels: of all series of the target."""

    rule: int
    target: str
    device: str
    labels: Mapping[str, str]


class PushedRules:
    """The rules of one collector. mappers_max: targets, rules and labels whose mapper is kept.

    sentinels: float64[n, 2], those of all sources; spans: first and last + 1 of each rule's.
    """

    def __init__(self, rules: Sequence[PushedRule], mappers_max: int) -> None:
        self._rules, self._mappers_max = rules, mappers_max
        self._sources = [(rule.catalogue_source(), rule.origins()) for rule in rules]
        self.spans, self.sentinels = _sentinels(source.sentinels for source, _ in self._sources)
        self._mappers: dict[tuple[int, str, tuple[tuple[str, str], ...]], Mapper] = {}

    def identify(self, metric: str, labels: Mapping[str, str]) -> Identity | None:
        """None when no rule knows the series, or it names no device. ValueError: labels too long for a pattern."""
        job = labels.get("job", "")
        number = next((n for n, rule in enumerate(self._rules) if rule.matches(job)), None)
        if number is None:
            return None
        rule = self._rules[number]
        before = {**labels, "__name__": metric, "__address__": labels.get("instance", "")}
        after = relabel(before, rule.relabel_configs) if rule.relabel_configs else before
        if after is None:
            return None
        identity = {k: v for k, v in after.items() if not k.startswith("__") and before.get(k) != v}
        address = next((after[name] for name in rule.device_from if after.get(name)), "")
        device = identity.setdefault("device", _host_of(address))
        return Identity(number, address or device, device, identity) if device else None

    def entries(
        self, identity: Identity, device: str, metric: str, labels: Mapping[str, str]
    ) -> Sequence[Entry] | None:
        """The canonical series that it is a part of, as ``Mapper.map`` gives them. device: of the target."""
        return self._mapper(identity, device).map(metric, _of_source(labels))

    def kept(self, identity: Identity, device: str, metric: str, labels: Mapping[str, str]) -> Sequence[Entry]:
        """The series under its own name; () when its rule drops what nothing maps."""
        if self._rules[identity.rule].unmapped != "keep":
            return ()
        return self._mapper(identity, device).kept(_NO_CHAR.sub("_", metric), labels)

    def kept_max(self, identity: Identity) -> int:
        """Series under their own names that a target may have."""
        return self._rules[identity.rule].unmapped_series_max

    def forget(self) -> None:
        """Lets go of what is only kept to be quick."""
        self._mappers.clear()

    def _mapper(self, identity: Identity, device: str) -> Mapper:
        """That of all series of one target with the same rule and identity."""
        labels = {**identity.labels, "device": device}
        key = (identity.rule, identity.target, tuple(sorted(labels.items())))
        if key not in self._mappers:
            if len(self._mappers) >= self._mappers_max:
                self._mappers.clear()
            source, origins = self._sources[identity.rule]
            self._mappers[key] = Mapper(source, labels, origins)
        return self._mappers[key]


def _host_of(address: str) -> str:
    """What is before the last colon; all of an IPv6 address without a port.

    >>> [_host_of(text) for text in ("node1:9400", "node1", "[fe80::1]:57400", "[fe80::1]", "fe80::1", "node1:a:b")]
    ['node1', 'node1', 'fe80::1', 'fe80::1', 'fe80::1', 'node1:a']
    """
    bare = address.strip("[]")
    try:
        ip_address(bare)
    except ValueError:
        return address.rpartition(":")[0].strip("[]") or address
    return bare


def _of_source(labels: Mapping[str, str]) -> dict[str, str]:
    """The labels as the exporter sent them, where Prometheus renamed some."""
    named = {name.removeprefix(_EXPORTED): value for name, value in labels.items() if name.startswith(_EXPORTED)}
    return {**labels, **named}


def _sentinels(
    ranges: Iterable[tuple[tuple[float, float], ...]],
) -> tuple[list[tuple[int, int]], NDArray[np.float64]]:
    """Those of each source as a span of all, and all."""
    spans: list[tuple[int, int]] = []
    every: list[tuple[float, float]] = []
    for each in ranges:
        spans.append((len(every), len(every) + len(each)))
        every += each
    return spans, np.array(every, np.float64).reshape(-1, 2)
