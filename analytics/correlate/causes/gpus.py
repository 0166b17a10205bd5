"""A GPU that is broken or throttled, and a GPU that is slow for no reason it reports."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.cause import GPU_FAULTS, Cause, cause_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectRef

TOGETHER_MIN = 3  # so many GPUs of one host at once have one cause: its cooling, its power, its driver


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Broken GPUs, host by host, and GPUs that hold up their job."""
    yield from _faults(view)
    yield from _stragglers(view)


def _faults(view: CorrelationView) -> Iterable[Cause]:
    hosts: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(GPU_FAULTS)):
        hosts[finding.object.device].append(finding)
    for host in sorted(hosts):
        gpus: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
        for finding in hosts[host]:
            gpus[finding.object].append(finding)
        if len(gpus) >= TOGETHER_MIN:
            yield _fault(view, sorted(gpus), hosts[host])
            continue
        for gpu in sorted(gpus):
            yield _fault(view, [gpu], gpus[gpu])


def _fault(view: CorrelationView, gpus: list[ObjectRef], found: list[Finding]) -> Cause:
    onsets: dict[ObjectRef, int] = {}
    for finding in found:
        onsets[finding.object] = min(finding.onset_ns, onsets.get(finding.object, finding.onset_ns))
    root = view.root(IncidentKind.GPU_FAULT, sorted(gpus, key=lambda gpu: (onsets[gpu], gpu)))
    reasons = sorted({_reason(finding) for finding in found if finding.object == root})
    others = f"; {len(gpus) - 1} more GPUs of its host as well" if len(gpus) > 1 else ""
    primary = frozenset(finding.id for finding in found)
    return cause_of(IncidentKind.GPU_FAULT, root, primary, " and ".join(reasons) + others)


def _reason(finding: Finding) -> str:
    """Errors that the driver ascribes to programs are the GPU's where they come with one program after the other."""
    repeated = [one for one in finding.evidence if one.unit == "programs"]
    if not repeated:
        return finding_kinds()[finding.kind].cause
    usual = repeated[0].normal or 0.0
    programs = f"{repeated[0].value:.0f} users' programs failed on it, where {usual:.2g} is usual for a GPU"
    return f"{programs}: its hardware is suspected, although each XID blames the program"


def _stragglers(view: CorrelationView) -> Iterable[Cause]:
    """One straggler a job: the others wait for it and may look like one too."""
    jobs: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.STRAGGLER):
        mine = view.jobs.of(finding.object)
        jobs[mine[0] if mine else finding.object.name].append(finding)
    for job_id in sorted(jobs):
        found = jobs[job_id]
        members = len(view.jobs.gpus(job_id))
        if members and 2 * len({finding.object for finding in found}) > members:
            continue  # most of the job is unlike the rest: no single GPU is the outlier
        until_ns = found[0].onset_ns + view.config.interval_ns  # within one sampling interval the order is not known
        first = [finding for finding in found if finding.onset_ns <= until_ns]
        ranked = sorted(first, key=lambda finding: (-finding.score, finding.object))
        root = view.root(IncidentKind.STRAGGLER, [finding.object for finding in ranked])
        yield cause_of(
            IncidentKind.STRAGGLER,
            root,
            frozenset(finding.id for finding in found),
            f"unlike the other {max(0, members - 1)} GPUs of its job, which wait for it; nothing else is wrong with it",
        )
