"""What an incident reaches and costs: blast radius, GPU-seconds, severity."""

from collections.abc import Iterable

from analytics.correlate.config import NS_PER_S, CorrelateConfig
from analytics.correlate.track import Track
from analytics.correlate.view import View
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import BlastRadius, IncidentKind, Severity
from telemetry.objects import ObjectKind, ObjectRef, device

WAITING = frozenset({FindingKind.JOB_STALLED, FindingKind.CHECKPOINT_LATE, FindingKind.STRAGGLER})
DEAD = frozenset({IncidentKind.DEVICE_DOWN, IncidentKind.RACK_POWER})
HOLDS = (ObjectKind.DEVICE, ObjectKind.GPU)
FLOOR = {
    IncidentKind.RACK_POWER: Severity.CRITICAL,
    IncidentKind.PAUSE_LOOP: Severity.CRITICAL,
    IncidentKind.UNEXPLAINED: Severity.INFO,
    IncidentKind.TELEMETRY_LOST: Severity.INFO,
    IncidentKind.DEVICE_REBOOTED: Severity.INFO,
}
RANK = {Severity.INFO: 0, Severity.WARNING: 1, Severity.CRITICAL: 2}


def lost_share(finding: Finding) -> float:
    """The share of the GPUs' time that a stalled job or straggler loses, 0..1.

    From how far the evidence is from its normal, relative to the larger of both: a GPU that is busy 1.3 times as long
    as its peers makes them wait for 0.3 / 1.3 of the time. From the score where nothing normal is known.
    """
    shares = [
        abs(evidence.value - evidence.normal) / max(abs(evidence.value), abs(evidence.normal))
        for evidence in finding.evidence
        if evidence.normal is not None and evidence.normal != evidence.value
    ]
    return min(1.0, max(shares, default=max(0.0, finding.score)))


def gpu_seconds(view: View, track: Track, members: Iterable[Finding], now_ns: int) -> float:
    """GPU time lost since the last tick: the GPUs of every waiting job, and those of dead hosts."""
    lost: dict[ObjectRef, float] = {}
    for finding in members:
        if finding.kind not in WAITING:
            continue
        share = lost_share(finding) * max(0, now_ns - max(track.accounted_ns, finding.onset_ns)) / NS_PER_S
        for job_id in view.jobs.of(finding.object):
            for ref in view.jobs.gpus(job_id):
                lost[ref] = max(lost.get(ref, 0.0), share)
    if track.cause.kind in DEAD and track.primary:
        seconds = max(0, now_ns - max(track.accounted_ns, track.onset_ns)) / NS_PER_S
        for ref in _dead_gpus(view, track.cause.root):
            lost[ref] = seconds
    return sum(lost[ref] for ref in sorted(lost))


def _dead_gpus(view: View, root: ObjectRef) -> list[ObjectRef]:
    names = view.graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.name]
    return [ref for name in names for ref in view.graph.gpus_of(name)]


def stalled_jobs(view: View, members: Iterable[Finding]) -> set[str]:
    """Jobs that say themselves that they wait."""
    return {job_id for finding in members if finding.kind in WAITING for job_id in view.jobs.of(finding.object)}


def blast(view: View, cause_root: ObjectRef, jobs_felt: frozenset[str], further: frozenset[str]) -> BlastRadius:
    """What cannot work without the root, and all of every job that this holds up: training is lockstep.

    jobs_felt: jobs that show that they wait. further: other devices that went away with the root.
    """
    graph = view.graph
    reached = graph.reached(cause_root).union(*(graph.reached(device(name)) for name in sorted(further)))
    needed = {job_id for ref in reached if ref.kind in HOLDS for job_id in view.jobs.of(ref)}
    jobs = needed | jobs_felt
    links = {ref.name for ref in reached if ref.kind is ObjectKind.LINK}
    links |= {graph.link_of[cause_root].name} if cause_root in graph.link_of else set()
    hosts = {ref.name for ref in reached if ref.kind is ObjectKind.DEVICE and graph.is_edge(ref.name)}
    hosts |= {cause_root.device} if cause_root.kind is ObjectKind.GPU else set()
    gpus = {ref.name for ref in reached if ref.kind is ObjectKind.GPU}
    gpus |= {ref.name for job_id in jobs for ref in view.jobs.gpus(job_id)}
    nodes = hosts | {node for job_id in jobs for node in view.jobs.nodes(job_id)}
    return BlastRadius(tuple(sorted(links)), tuple(sorted(nodes)), tuple(sorted(gpus)), tuple(sorted(jobs)))


def stalled_gpus(view: View, jobs: Iterable[str]) -> int:
    return len({ref for job_id in jobs for ref in view.jobs.gpus(job_id)})


def severity(
    kind: IncidentKind, known: Severity, stalled: int, lost_gpu_seconds: float, planned: bool, config: CorrelateConfig
) -> Severity:
    """By cost so far, from a floor by kind; never falls while the incident is open. Planned work never alarms."""
    if planned:
        return Severity.INFO
    grade = FLOOR.get(kind, Severity.WARNING)
    if stalled >= config.critical_gpus or lost_gpu_seconds >= config.critical_gpu_seconds:
        grade = Severity.CRITICAL
    elif stalled:
        grade = max(grade, Severity.WARNING, key=RANK.__getitem__)
    return max(grade, known, key=RANK.__getitem__)
