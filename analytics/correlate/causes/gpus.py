"""A GPU that is broken or throttled, and a GPU that is slow for no reason it reports."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analytics.correlate.cause import GPU_FAULTS, Cause, cause_of
from analytics.correlate.causes.siblings import (
    VERSION,
    Shared,
    gpus_of_host,
    hosts_by_pod,
    hosts_by_rack,
    hosts_by_version,
    shared,
)
from analytics.correlate.symptoms import effect_of
from analytics.correlate.view import CorrelationView
from common.units import to_ns
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Effect, finding_kinds
from telemetry.objects import ObjectRef

_THROTTLED = re.compile(r'^gpu_throttle_.*reason="(sw_thermal|hw_thermal|thermal|hw_slowdown|hw_power_brake)"')
SLOWED = frozenset(
    {FindingKind.GPU_THROTTLED, FindingKind.GPU_HOT}
)  # by their air and load: far more often than parts fail
TOGETHER_MIN = 3  # so many GPUs of one host at once have one cause: its cooling, its power, its driver
HOSTS_MIN = 3  # with the same fault at once; two are too easily two faults
# What a version breaks shows under load, so not on all hosts at once. Three of 100 hosts fail by themselves within an
# hour once in 60 years, within a day ten times a year (``years_by_chance``).
OF_VERSION_NS = to_ns(3600.0)
HOT_MIN = 2  # fans fail for all of a host's GPUs; the next one throttles when its load lets it


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Broken GPUs, host by host, and GPUs that hold up their job."""
    yield from _faults(view)
    yield from _stragglers(view)


def _faults(view: CorrelationView) -> Iterable[Cause]:
    hosts: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(*sorted(GPU_FAULTS)):
        hosts[finding.object.device].append(finding)
    slow: defaultdict[str, list[Finding]] = defaultdict(list)  # by host, as the next
    for finding in view.of(FindingKind.STRAGGLER) if hosts else ():
        slow[finding.object.device].append(finding)
    firing: defaultdict[str, list[ObjectRef]] = defaultdict(list)
    for kind, root in view.firing:
        if kind is IncidentKind.GPU_FAULT:
            firing[root.device].append(root)
    broken: dict[str, list[Finding]] = {}
    for host in sorted(hosts):
        of_host = view.kept(_of_host, host, host, hosts[host], slow.get(host, ()), firing.get(host))
        yield from of_host
        if of_host:
            broken[host] = hosts[host]
    yield from _across_hosts(view, broken)


def _of_host(
    view: CorrelationView,
    host: str,
    found: Sequence[Finding],
    slow: Sequence[Finding],
    _firing: Sequence[ObjectRef],
) -> Sequence[Cause]:
    """One cause for each broken GPU, one for all where they are many. slow: that GPUs of the host straggle, which
    is the fault's own where it is the same GPU, however long before it shows. _firing: roots of incidents of its GPUs.
    """
    gpus: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in found:
        gpus[finding.object].append(finding)
    if by_heat(view, host, found):
        return ()  # what these have in common is the host's air and power: ``environment.py``
    for finding in slow:
        if finding.object in gpus:
            gpus[finding.object].append(finding)
    if len(gpus) >= TOGETHER_MIN:
        return (_fault(view, gpus),)
    return [_fault(view, {gpu: gpus[gpu]}) for gpu in sorted(gpus)]


def _across_hosts(view: CorrelationView, hosts: Mapping[str, list[Finding]]) -> Iterable[Cause]:
    """GPUs of several hosts of a rack or pod that show the same at once. hosts: those that heat does not slow."""
    onsets_ns: defaultdict[FindingKind, dict[str, int]] = defaultdict(dict)
    for host in sorted(hosts):
        for finding in reversed(hosts[host]):
            onsets_ns[finding.kind][host] = finding.onset_ns
    for kind in sorted(kind for kind, of_hosts in onsets_ns.items() if len(of_hosts) >= HOSTS_MIN):
        left, version = onsets_ns[kind], hosts_by_version(view, onsets_ns[kind])
        at_once = list(shared(view, left, [hosts_by_rack(view), hosts_by_pod(view), version], HOSTS_MIN))
        left = {host: at_ns for host, at_ns in left.items() if all(host not in found.failed for found in at_once)}
        later = shared(view, left, [version], HOSTS_MIN, OF_VERSION_NS) if kind not in SLOWED else ()
        for found in (*at_once, *later):
            yield _alike(view, kind, found, hosts)


def _alike(view: CorrelationView, kind: FindingKind, found: Shared, hosts: Mapping[str, list[Finding]]) -> Cause:
    alike = [finding for host in found.failed for finding in hosts[host] if finding.kind is kind]
    gpus = {finding.object for finding in alike}
    root = view.root(IncidentKind.GPU_FAULT, [finding.object for finding in alike])
    whose, when, in_common = f"of {found.parent}", "at once", "their power, driver or job"
    action = f"Look at what these hosts of {found.parent} have in common before any GPU of them: {in_common}."
    if found.noun == VERSION:
        whose, when, in_common = f"with new {found.name}", "within an hour", "that version"
        action = (
            f"Stop the rollout of {found.name}, and take it back on these hosts before any GPU of them is exchanged."
        )
    return cause_of(
        IncidentKind.GPU_FAULT,
        root,
        frozenset(one.id for host in found.failed for one in hosts[host] if one.object in gpus),
        f"{finding_kinds()[kind].cause}, on {len(gpus)} GPUs of {len(found.failed)} of {found.of} hosts "
        f"{whose} {when}, {found.chance}: {in_common} is what they have in common",
        gone=frozenset(found.failed) - {root.device},
        subject=f"{len(gpus)} GPUs of {len(found.failed)} hosts {whose}",
        action=action,
    )


def _fault(view: CorrelationView, gpus: Mapping[ObjectRef, Sequence[Finding]]) -> Cause:
    """gpus: of one host, each with its findings."""
    ranked = sorted((min([finding.onset_ns for finding in found]), gpu) for gpu, found in gpus.items())
    root = view.root(IncidentKind.GPU_FAULT, [gpu for _, gpu in ranked])
    reasons = sorted({_reason(finding) for finding in gpus[root] if finding.kind in GPU_FAULTS})
    others = f"; {len(gpus) - 1} more GPUs of its host as well" if len(gpus) > 1 else ""
    primary = frozenset([finding.id for found in gpus.values() for finding in found])
    return cause_of(
        IncidentKind.GPU_FAULT,
        root,
        primary,
        " and ".join(reasons) + others,
        subject=f"{len(gpus)} GPUs of {root.device}" if others else "",
        action=f"Drain {root.device}; look at what its GPUs have in common: cooling, power, driver." if others else "",
    )


def by_heat(view: CorrelationView, host: str, found: Sequence[Finding]) -> bool:
    """Whether heat or a power brake holds the clocks of several GPUs of a host, and nothing else is wrong with them.

    Two are enough where they began at once and that is no chance.
    """
    if not found or not all(map(_is_hot, found)):
        return False
    onsets_ns = {finding.object.name: finding.onset_ns for finding in reversed(found)}
    return len(onsets_ns) >= TOGETHER_MIN or any(shared(view, onsets_ns, [gpus_of_host(view, host)], HOT_MIN))


def _is_hot(finding: Finding) -> bool:
    throttled = finding.kind is FindingKind.GPU_THROTTLED
    return finding.kind is FindingKind.GPU_HOT or (
        throttled and any(_THROTTLED.search(one.series) for one in finding.evidence)
    )


def is_braked(finding: Finding) -> bool:
    """Whether the power supply and not heat holds the clock of a throttled GPU."""
    return any('reason="hw_power_brake"' in one.series for one in finding.evidence)


def _reason(finding: Finding) -> str:
    """Errors that the driver ascribes to programs are the GPU's where they come with one program after the other."""
    repeated = [one for one in finding.evidence if one.unit == "programs"]
    if not repeated:
        return finding_kinds()[finding.kind].cause
    usual = repeated[0].normal or 0.0
    programs = f"{repeated[0].value:.0f} users' programs failed on it, where {usual:.2g} is usual for a GPU"
    return f"{programs}: its hardware is suspected, although each XID blames the program"


def _stragglers(view: CorrelationView) -> Iterable[Cause]:
    """Of each job the outlier that stands out most, and every other one that has lost clock by itself.

    Where one makes all others wait, some of them seem to work longer than the rest. No other GPU lowers their clock.
    """
    jobs: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.STRAGGLER):
        mine = view.jobs.of(finding.object)
        jobs[mine[0] if mine else finding.object.name].append(finding)
    for job_id in sorted(jobs):
        found = jobs[job_id]
        members = len(view.jobs.gpus(job_id))
        if members and 2 * len({finding.object for finding in found}) > members:
            continue  # most of the job is unlike the rest: no single GPU is the outlier
        every_s = view.config.slowest_s(finding.cadence_s for finding in found)
        until_ns = found[0].onset_ns + view.config.intervals_ns(1.0, every_s)  # within one the order is not known
        first = [finding for finding in found if finding.onset_ns <= until_ns]
        ranked = sorted(first, key=lambda finding: (-finding.score, finding.object))
        root = view.root(IncidentKind.STRAGGLER, [finding.object for finding in ranked])
        hosts: defaultdict[str, list[Finding]] = defaultdict(list)
        for finding in found:
            by_itself = finding.object.device != root.device and effect_of(finding) is Effect.CLOCK_LOST
            hosts[finding.object.device if by_itself else root.device].append(finding)
        for host in sorted(hosts):
            yield _straggler(view, root if host == root.device else None, hosts[host], members)


def _straggler(view: CorrelationView, root: ObjectRef | None, found: list[Finding], members: int) -> Cause:
    """root: where it is known; else the one of ``found``, all of one host, that stands out most."""
    ranked = [finding.object for finding in sorted(found, key=lambda f: (-f.score, f.object))]
    return cause_of(
        IncidentKind.STRAGGLER,
        root or view.root(IncidentKind.STRAGGLER, ranked),
        frozenset(finding.id for finding in found),
        f"unlike the other {max(0, members - 1)} GPUs of its job, which wait for it; nothing else is wrong with it",
    )
