"""Which active findings a step of correlation looks at: what a step costs grows with them and with nothing else.

A label that changes with each scrape, or half a cluster that goes away, makes tens of thousands of findings at once.
The rest waits and is looked at once others have cleared. Only telemetry decides, never how long something took.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from enum import StrEnum

from analytics.correlate.cause import SYMPTOMS
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.tracks import Track
from telemetry.findings import Finding, FindingKind
from telemetry.objects import ObjectRef


class LeftOut(StrEnum):
    """Why a finding is not looked at."""

    DEVICE_LIMIT = "device_limit"  # its device has too many of its kind
    CLUSTER_LIMIT = "cluster_limit"  # the cluster has too many
    TICK_LIMIT = "tick_limit"  # too many changed at once: the next tick looks at it


@dataclass(frozen=True, slots=True)
class Considered:
    """findings: those that are looked at. left_out: how many are not, by reason. devices: those above their limit."""

    findings: Sequence[Finding]
    left_out: Mapping[str, int] = field(default_factory=dict)
    devices: frozenset[str] = frozenset()


def consider(active: Sequence[Finding], tracks: Iterable[Track], config: CorrelateConfig) -> Considered:
    """The findings of a step, at most ``correlated_findings_max``; every order of ``active`` gives the same.

    What is in an incident stays in it. Then the first of every kind on every device comes before any second one, so
    that a device with thousands hides nothing of another device, nor of another kind on itself.
    """
    if len(active) <= min(config.correlated_findings_max, config.device_findings_max):
        return Considered(active)
    within: list[tuple[int, bool, int, str]] = []
    devices: set[str] = set()
    for found in _groups(active):
        ordered = sorted(found, key=lambda finding: (finding.onset_ns, finding.id))
        if len(ordered) > config.device_findings_max:
            devices.add(ordered[0].object.device)
        within += [
            (rank, finding.kind in SYMPTOMS, finding.onset_ns, finding.id)
            for rank, finding in enumerate(ordered[: config.device_findings_max])
        ]
    kept = _most_important(within, tracks, config.correlated_findings_max)
    left_out: dict[str, int] = {
        LeftOut.DEVICE_LIMIT: len(active) - len(within),
        LeftOut.CLUSTER_LIMIT: len(within) - len(kept),
    }
    return Considered([finding for finding in active if finding.id in kept], left_out, frozenset(devices))


def _groups(active: Sequence[Finding]) -> Iterable[list[Finding]]:
    """By kind and device. What has no device, such as a job, is a group of its own."""
    groups: defaultdict[tuple[FindingKind, str | ObjectRef], list[Finding]] = defaultdict(list)
    for finding in active:
        groups[finding.kind, finding.object.device or finding.object].append(finding)
    return groups.values()


def _most_important(
    within: Sequence[tuple[int, bool, int, str]], tracks: Iterable[Track], findings_max: int
) -> set[str]:
    """Ids of the first ``findings_max``: those of incidents, then by rank, evidence before symptoms, and onset."""
    if len(within) <= findings_max:
        return {found for *_, found in within}
    known = {found for track in tracks for found in (*track.primary, *track.symptoms)}
    ranked = sorted((found not in known, *rest, found) for *rest, found in within)
    return {str(found) for *_, found in ranked[:findings_max]}


class Budget:
    """``consider``, asked again only when another answer is possible: in a storm most ticks bring newer versions of
    the same findings. Nothing in it is state."""

    def __init__(self, config: CorrelateConfig) -> None:
        self._config = config
        self._known: Set[str] = frozenset()
        self._considered: Considered | None = None
        self._ids: Set[str] = frozenset()

    def forget(self) -> None:
        """Other findings are active than the last time."""
        self._considered = None

    def consider(self, active: Sequence[Finding], tracks: Sequence[Track], queued: int = 0) -> Considered:
        """The findings of a step; see the function. queued: what changed and waits for the next step."""
        found = self._consider(active, tracks)
        return replace(found, left_out={**found.left_out, LeftOut.TICK_LIMIT: queued}) if queued else found

    def _consider(self, active: Sequence[Finding], tracks: Sequence[Track]) -> Considered:
        if len(active) <= self._config.device_findings_max:
            return Considered(active)
        known = {found for track in tracks for found in (*track.primary, *track.symptoms)}
        if self._considered is None or known != self._known:
            self._considered, self._known = consider(active, tracks, self._config), known
            self._ids = {finding.id for finding in self._considered.findings}
            return self._considered
        return replace(self._considered, findings=[finding for finding in active if finding.id in self._ids])
