"""Checkpoints that are late, missing or colliding, where no slow storage explains it."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from analytics.correlate.cause import CHECKPOINTS, Cause, cause_of
from analytics.correlate.view import CorrelationView
from analytics.models.storage_clients import OTHERS_SHARE
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind, Severity
from telemetry.kinds import HoldPolicy, finding_kinds
from telemetry.objects import ObjectRef

# Since the begin of a pause: within two of these every target is read twice, which shows a slow one, and within the
# third that is published.
_SETTLED_INTERVALS = 3.0
# Of what a target moves: whoever has most of it is why others wait (assumption). And the score of a late checkpoint, of
# which 1 is late, from which on somebody should know whose fault that is not (assumption).
_OTHERS_SHARE_MIN, _LARGE_SCORE = 0.5, 2.0


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
        reason = " and ".join(sorted({finding_kinds()[each.kind].cause for each in jobs[job]}))
        cause, others = _cause(view, jobs[job], reason), [_others(finding) for finding in jobs[job]]
        yield _of_others(cause, jobs[job], min(others)) if min(others) >= _OTHERS_SHARE_MIN else cause


def _of_others(cause: Cause, found: list[Finding], share: float) -> Cause:
    """Nothing is broken: the targets are as fast as ever, for others. So nobody is paged before the loss is as large as
    that of a job for which a checkpoint comes twice as late as what is late, and then it is a warning."""
    is_large = max(finding.score for finding in found) >= _LARGE_SCORE
    return replace(
        cause,
        reason=f"{cause.reason}; {share:.0%} of what its target moves is of others, and it moves more than it usually "
        "does or its siblings do",
        headline=f"checkpoint of job {cause.root.name} late, other clients use its storage",
        action=f"Look at who else uses the file system of job {cause.root.name}: its targets are as fast as ever.",
        ceiling=Severity.WARNING if is_large else Severity.INFO,
    )


def _others(finding: Finding) -> float:
    """The part of others in what a job's target moves; 0 where it is not known, or a member alone is late."""
    head = f"{OTHERS_SHARE}{{"
    return next((each.value for each in finding.evidence if each.series.startswith(head)), 0.0)


def _cause(view: CorrelationView, found: list[Finding], reason: str) -> Cause:
    """It waits for a slow target that may be why, unless each has been read so often since that it would be known."""
    ranked = [finding.object for finding in sorted(found, key=lambda f: (f.onset_ns, f.object))]
    return cause_of(
        IncidentKind.LATE_CHECKPOINT,
        view.root(IncidentKind.LATE_CHECKPOINT, ranked),
        frozenset(finding.id for finding in found),
        reason,
        hold=HoldPolicy.NONE if _settled(view, found) else HoldPolicy.INTERVAL,
    )


def _settled(view: CorrelationView, found: list[Finding]) -> bool:
    """Whether a job has written for long enough that what else is slow would have been found."""
    late = [finding for finding in found if finding.kind is FindingKind.CHECKPOINT_LATE]
    if not late:
        return False
    settles_ns = view.config.across_ns(_SETTLED_INTERVALS, (finding.cadence_s for finding in late))
    return view.now_ns - min(finding.onset_ns for finding in late) >= settles_ns
