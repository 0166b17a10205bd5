"""Checkpoints that are late, missing or in each other's way, where no slow storage explains it."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.causes.cause import CHECKPOINTS, Cause, Patience, Tier
from analytics.correlate.evidence import View
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef

WORDS = {
    FindingKind.CHECKPOINT_LATE: "its checkpoint takes far longer than usual",
    FindingKind.CHECKPOINT_OVERDUE: "its next checkpoint has not come",
}


def propose(view: View) -> Iterable[Cause]:
    """One cause for all jobs that collide, one for each other job."""
    colliding = {finding.object for finding in view.of(FindingKind.CHECKPOINT_COLLIDING)}
    jobs: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    together: list[Finding] = []
    for finding in view.of(*sorted(CHECKPOINTS)):
        (together if finding.object in colliding else jobs[finding.object]).append(finding)
    if together:
        yield _cause(view, together, f"{len(colliding)} jobs write their checkpoints at the same time")
    for job in sorted(jobs):
        yield _cause(view, jobs[job], " and ".join(sorted({WORDS[finding.kind] for finding in jobs[job]})))


def _cause(view: View, found: list[Finding], reason: str) -> Cause:
    ranked = [finding.object for finding in sorted(found, key=lambda f: (f.onset_ns, f.object))]
    return Cause(
        IncidentKind.LATE_CHECKPOINT,
        view.root(IncidentKind.LATE_CHECKPOINT, ranked),
        frozenset(finding.id for finding in found),
        reason,
        tier=Tier.SOFT,
        patience=Patience.INTERVAL,
    )
