"""A host that fell back from RDMA to TCP, and so holds up the collectives of its job."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.view import CorrelationView
from analytics.detectors.jobs.tcp_fallback import CONFIDENCE
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a job: hosts of one job that fall back together have an image or a setting in common."""
    jobs: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.TCP_FALLBACK):
        mine = view.jobs.of(finding.object)
        jobs[mine[0] if mine else finding.object.name].append(finding)
    for job_id in sorted(jobs):
        yield _fallback(view, sorted(jobs[job_id], key=lambda found: (-found.score, found.object)))


def _fallback(view: CorrelationView, ranked: list[Finding]) -> Cause:
    """The one whose kernel carries most first: with two hosts in a chain, the other end is only its neighbour.

    A job that has used TCP since it began has no normal, and cannot show that it waits: in lockstep it does."""
    root = view.root(IncidentKind.TCP_FALLBACK, [finding.object for finding in ranked])
    others = f", and so does that of {len(ranked) - 1} more hosts" if len(ranked) > 1 else ""
    return cause_of(
        IncidentKind.TCP_FALLBACK,
        root,
        frozenset(finding.id for finding in ranked),
        f"the kernel of {root.name} carries over TCP what the others of its job send by RDMA{others}",
        devices=frozenset(finding.object.device for finding in ranked),
        harmless=all(finding.confidence < CONFIDENCE for finding in ranked),
    )
