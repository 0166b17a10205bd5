"""Checkpoints that are late, missing or colliding, where no slow storage explains it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from analytics.correlate.cause import CHECKPOINTS, Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectRef


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause for all jobs that collide, one for each other job."""
    colliding = {finding.object for finding in view.of(FindingKind.CHECKPOINT_COLLIDING)}
    jobs: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    together: list[Finding] = []
    for finding in view.of(*sorted(CHECKPOINTS)):
        (together if finding.object in colliding else jobs[finding.object]).append(finding)
    if together:
        yield replace(
            _cause(view, together, f"{len(colliding)} jobs write their checkpoints at the same time"),
            headline=f"checkpoints of {len(colliding)} jobs collide",
            action="Move the checkpoints of these jobs apart: each is late as the others write at the same time.",
        )
    for job in sorted(jobs):
        yield _cause(view, jobs[job], " and ".join(sorted({finding_kinds()[each.kind].cause for each in jobs[job]})))


def _cause(view: CorrelationView, found: list[Finding], reason: str) -> Cause:
    ranked = [finding.object for finding in sorted(found, key=lambda f: (f.onset_ns, f.object))]
    return cause_of(
        IncidentKind.LATE_CHECKPOINT,
        view.root(IncidentKind.LATE_CHECKPOINT, ranked),
        frozenset(finding.id for finding in found),
        reason,
    )
