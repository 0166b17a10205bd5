"""A slow storage target. Targets of one server share a cause; a much slower one drags the others of its file system."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.causes.cause import STORAGE, Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy, Tier
from telemetry.objects import ObjectRef

SURE_CONFIDENCE = 0.6  # less may be clients that wait behind a link that loses packets
SURE_SCORE = 2.0  # less may be a target that waits for one that is about to show
_THROUGHPUT = "storage_throughput"
DRAGGED_SHARE = 0.5  # a target with less than this share of the worst score only waits for the worst


def propose(view: CorrelationView) -> Iterable[Cause]:
    """The slowest targets of each file system, by server; what they only drag along is not blamed."""
    filesystems: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(STORAGE)):
        filesystems[finding.object.name.partition("/")[0]].append(finding)
    for filesystem in sorted(filesystems):
        yield from _filesystem(view, filesystems[filesystem])


def _filesystem(view: CorrelationView, found: list[Finding]) -> Iterable[Cause]:
    # Files are striped: who waits for one target asks little of the others. So throughput that collapses names a target
    # only where none is slower than its siblings.
    telling = [finding for finding in found if finding.detector != _THROUGHPUT] or found
    slowest = min(telling, key=lambda finding: (-finding.score, finding.onset_ns, finding.object))
    # Barely slow targets of other servers wait too: only a surely slow one is a cause of its own.
    least = max(SURE_SCORE, DRAGGED_SHARE * slowest.score)
    server = view.server(slowest.object)
    heavy = [
        finding
        for finding in telling
        if finding.score >= (DRAGGED_SHARE * slowest.score if view.server(finding.object) == server else least)
    ]
    servers: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in heavy:
        servers[view.server(finding.object) or finding.object.name].append(finding)
    ranked = sorted(servers, key=lambda name: (-max(finding.score for finding in servers[name]), name))
    kept = {finding.id for finding in heavy}
    dragged = [finding for finding in found if finding.id not in kept]
    for position, name in enumerate(ranked):
        yield _cause(view, name, servers[name], dragged if position == 0 else [])


def _cause(view: CorrelationView, server: str, found: list[Finding], dragged: list[Finding]) -> Cause:
    ranked = [finding.object for finding in sorted(found, key=lambda f: (-f.score, f.onset_ns, f.object))]
    root = view.root(IncidentKind.SLOW_STORAGE, ranked + _siblings(view, found))
    paused = frozenset[str]().union(*(origin.findings for origin in view.origins if origin.device == server))
    also = f", with {len(ranked) - 1} more targets of {server}" if len(set(ranked)) > 1 else ""
    return cause_of(
        IncidentKind.SLOW_STORAGE,
        root,
        frozenset({finding.id for finding in (*found, *dragged)}) | paused,
        f"{root.name} answers slowly{also}",
        tier=Tier.HARD if max(finding.confidence for finding in found) >= SURE_CONFIDENCE else Tier.DEPENDENT,
        hold=HoldPolicy.NONE if max(finding.score for finding in found) >= SURE_SCORE else HoldPolicy.INTERVAL,
    )


def _siblings(view: CorrelationView, found: list[Finding]) -> list[ObjectRef]:
    """Targets for which those whose throughput has collapsed may wait: an incident may name one of them already."""
    if any(finding.detector != _THROUGHPUT for finding in found):
        return []
    systems = {finding.object.name.partition("/")[0] for finding in found}
    return [ref for ref in sorted(view.graph.targets) if ref.name.partition("/")[0] in systems]
