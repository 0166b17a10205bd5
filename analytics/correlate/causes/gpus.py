"""A GPU that is broken or held down, and a GPU that is slow for no reason it reports."""

from collections import defaultdict
from collections.abc import Iterable

from analytics.correlate.causes.cause import GPU_FAULTS, Cause, Patience, Tier
from analytics.correlate.evidence import View
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef

TOGETHER_MIN = 3  # this many GPUs of one host at once have one cause: its cooling, its power, its driver
WORDS = {
    FindingKind.GPU_THROTTLED: "its clocks are held down",
    FindingKind.GPU_XID: "the driver reported an XID error",
    FindingKind.GPU_LOST: "it vanished while its host answers",
    FindingKind.GPU_HUNG: "a kernel runs for ever and computes nothing",
    FindingKind.GPU_ECC: "its memory loses bits",
    FindingKind.GPU_ROW_REMAP: "rows of its memory are worn out",
    FindingKind.GPU_NVLINK_ERRORS: "its NVLinks have errors",
    FindingKind.GPU_PCIE: "its PCIe link is degraded",
}


def propose(view: View) -> Iterable[Cause]:
    """Broken GPUs, host by host, and GPUs that hold up their job."""
    yield from _faults(view)
    yield from _stragglers(view)


def _faults(view: View) -> Iterable[Cause]:
    hosts: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(GPU_FAULTS)):
        hosts[finding.object.device].append(finding)
    for host in sorted(hosts):
        found = hosts[host]
        gpus = sorted({finding.object for finding in found})
        groups = [gpus] if len(gpus) >= TOGETHER_MIN else [[gpu] for gpu in gpus]
        for group in groups:
            yield _fault(view, group, [finding for finding in found if finding.object in group])


def _fault(view: View, gpus: list[ObjectRef], found: list[Finding]) -> Cause:
    first = sorted(gpus, key=lambda ref: (min(f.onset_ns for f in found if f.object == ref), ref))
    root = view.root(IncidentKind.GPU_FAULT, first)
    said = sorted({WORDS[finding.kind] for finding in found if finding.object == root})
    others = f"; {len(gpus) - 1} more GPUs of its host as well" if len(gpus) > 1 else ""
    primary = frozenset(finding.id for finding in found)
    return Cause(IncidentKind.GPU_FAULT, root, primary, " and ".join(said) + others, patience=Patience.NONE)


def _stragglers(view: View) -> Iterable[Cause]:
    """One straggler a job: the others wait for it and may look odd too."""
    jobs: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.STRAGGLER):
        mine = view.jobs.of(finding.object)
        jobs[mine[0] if mine else finding.object.name].append(finding)
    for job_id in sorted(jobs):
        found = jobs[job_id]
        members = len(view.jobs.gpus(job_id))
        if members and 2 * len({finding.object for finding in found}) > members:
            continue  # most of the job is odd: then nobody is the odd one out
        settled = found[0].onset_ns + view.config.interval_ns  # within one sampling period the order is not known
        first = [finding for finding in found if finding.onset_ns <= settled]
        ranked = sorted(first, key=lambda finding: (-finding.score, finding.object))
        root = view.root(IncidentKind.STRAGGLER, [finding.object for finding in ranked])
        yield Cause(
            IncidentKind.STRAGGLER,
            root,
            frozenset(finding.id for finding in found),
            f"unlike the other {max(0, members - 1)} GPUs of its job, and nothing else is wrong with it",
            tier=Tier.SOFT,
            patience=Patience.NONE,
        )
