"""Findings that no cause explained for long enough: congestion without an origin, jobs that hang, the unexplained."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence

import rustworkx as rx

from analytics.correlate.cause import CONGESTED, JOB_WAITS, SUPPORTS_ONLY, Cause, cause_of
from analytics.correlate.cost import lost_share
from analytics.correlate.symptoms import hangs_s, sends_nothing
from analytics.correlate.texts.phrases import short
from analytics.correlate.view import CorrelationView
from analytics.models.jobs.sending import HANGS_BY_ITSELF_S
from analytics.models.jobs.work_level import LOW_SHARE
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectRef

FAINT = frozenset(kind for kind, row in finding_kinds().items() if row.faint)
_HANGS = "all of its GPUs poll, none computes and its hosts send nothing; no part is known to be broken"


def propose(view: CorrelationView, left: Sequence[Finding], past_hold: frozenset[str]) -> Iterable[Cause]:
    """Causes for the findings in ``left``; only those in ``past_hold`` may open one."""
    left = [each for each in left if each.kind is not FindingKind.SOFTWARE_CHANGED and not started(view, each)]
    congested = [finding for finding in left if finding.kind in CONGESTED]
    others = [finding for finding in left if finding.kind not in CONGESTED]
    waits = [finding for finding in others if finding.kind in JOB_WAITS and not sends_nothing(finding)]
    claimed: set[str] = set()
    for group in _neighbourhoods(view, congested):
        waiting = waiting_for(view, group, (finding for finding in waits if finding.id not in claimed))
        claimed |= {finding.id for finding in waiting}
        yield from _cause(view, IncidentKind.CONGESTION, group, past_hold, waiting)
    hanging = {finding.object for finding in others if hangs_s(finding) > 0.0}
    for job in sorted(hanging):
        of_job = [finding for finding in others if finding.object == job and finding.kind in JOB_WAITS]
        claimed |= {finding.id for finding in of_job}
        shown = {finding.id for finding in of_job if hangs_s(finding) >= HANGS_BY_ITSELF_S}
        yield from _cause(view, IncidentKind.JOB_HANG, of_job, past_hold | shown, reason=_HANGS)
    others = [finding for finding in others if finding.id not in claimed]
    owners: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in others:
        owners[_owner(view, finding)].append(finding)
    for name in sorted(owners):
        silent = _silent_host(view, owners[name])
        yield from _cause(view, IncidentKind.UNEXPLAINED, owners[name], past_hold, silent=silent)


def started(view: CorrelationView, finding: Finding) -> bool:
    """Whether a faint symptom began with the start or end of a job, which changes what is normal."""
    if finding.kind not in FAINT:
        return False
    mine = set(view.jobs.of(finding.object))
    since = bisect_left(view.starts, (finding.onset_ns - view.config.change_window_ns, ""))
    until = bisect_left(view.starts, (finding.onset_ns + view.config.onset_slack_ns, ""))
    recent = {job_id for _, job_id in view.starts[since:until]}
    on_fabric = view.graph.is_switch(finding.object.device)
    return bool(recent & mine) or (bool(recent) and (on_fabric or not mine))


def waiting_for(view: CorrelationView, group: Sequence[Finding], waits: Iterable[Finding]) -> list[Finding]:
    """That jobs wait which send through the congested ports, and that they began to when the congestion did."""
    jobs = {job_id for finding in group for job_id in senders(view, finding.object)}
    first = min(finding.onset_ns for finding in group) - view.config.onset_slack_ns
    last = max(finding.onset_ns for finding in group)
    last += view.config.straggler_window_ns
    return [
        finding
        for finding in waits
        if first <= view.waits_since(finding.object) <= last and jobs & {*view.jobs.of(finding.object)}
    ]


def senders(view: CorrelationView, ref: ObjectRef) -> Iterable[str]:
    """Jobs of the host at either end of a port; of one between switches, and of a whole switch, those behind it."""
    at_ends = view.jobs.of(ref)
    peer = view.graph.peers.get(ref)
    if at_ends or view.graph.faces_edge(ref):
        return at_ends
    return view.jobs.behind(ref.device) | (view.jobs.behind(peer.device) if peer else frozenset())


def _neighbourhoods(view: CorrelationView, findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings grouped by devices that are neighbours of each other, by first onset."""
    devices: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        devices[finding.object.device].append(finding)
    names = sorted(devices)
    near: rx.PyGraph[str, None] = rx.PyGraph(multigraph=False)
    index = dict(zip(names, near.add_nodes_from(names), strict=True))
    for name in names:
        for other in sorted(view.graph.neighbours(name) & devices.keys()):
            near.add_edge(index[name], index[other], None)
    groups = [[f for node in sorted(part) for f in devices[near[node]]] for part in rx.connected_components(near)]
    return sorted((_by_onset(group) for group in groups), key=lambda group: (group[0].onset_ns, group[0].id))


def _silent_host(view: CorrelationView, group: Sequence[Finding]) -> str:
    """The one host of a waiting job that fell silent when the wait began: what is wrong is where nothing can be seen.
    '' where there is none, and where there are several, which says more about what collects them."""
    waits = [finding for finding in group if finding.kind in JOB_WAITS]
    if not waits:
        return ""
    jobs = {job_id for finding in waits for job_id in view.jobs.of(finding.object)}
    first = min(view.waits_since(finding.object) for finding in waits)
    silent = {
        finding.object.device
        for finding in view.of(FindingKind.TARGET_SILENT)
        if abs(finding.onset_ns - first) <= view.config.straggler_window_ns
        if not jobs.isdisjoint(view.jobs.of(finding.object))
    }
    return silent.pop() if len(silent) == 1 else ""


def _owner(view: CorrelationView, finding: Finding) -> str:
    mine = view.jobs.of(finding.object)
    return f"job:{mine[0]}" if mine else finding.object.device or str(finding.object)


def _by_onset(findings: Iterable[Finding]) -> list[Finding]:
    return sorted(findings, key=lambda finding: (finding.onset_ns, finding.id))


def _by_itself(finding: Finding) -> bool:
    """Whether a job is only a little slower, by no low bin: work changes by itself, as where experts get hot."""
    return finding.kind is FindingKind.JOB_SLOWED and lost_share(finding) < 1.0 - LOW_SHARE


def _cause(
    view: CorrelationView,
    kind: IncidentKind,
    group: list[Finding],
    past_hold: frozenset[str],
    waiting: Sequence[Finding] = (),
    reason: str = "",
    silent: str = "",
) -> Iterable[Cause]:
    """waiting: findings that jobs wait for it, which are no reason to open one. reason: '' where there is none.
    silent: the host that may hide it, '' for none."""
    open_already = view.is_firing(kind, {finding.object for finding in group})
    opening = group
    if kind is IncidentKind.UNEXPLAINED and not silent:
        opening = [finding for finding in group if not _by_itself(finding)]
    faint = all(finding.kind in FAINT for finding in opening)
    waited = [finding for finding in opening if finding.id in past_hold and finding.confidence >= SUPPORTS_ONLY]
    if not open_already and (not waited or (faint and len(waited) < view.config.deviations_min)):
        return
    group = _by_onset(group)
    ranked: list[ObjectRef] = [finding.object for finding in group]
    if kind is IncidentKind.CONGESTION:
        ranked = [finding.object for finding in sorted(group, key=lambda f: (-f.score, f.onset_ns, f.object))]
    root = view.root(kind, ranked)
    unknown = f"{len(group)} finding{'s' if len(group) > 1 else ''} that no known cause explains"
    yield cause_of(
        kind,
        root,
        frozenset(finding.id for finding in (*group, *waiting)),
        reason or (f"{unknown}, and {silent} does not answer since then: it may be there" if silent else unknown),
        subject=f"{short(root, view.graph)}, whose {silent} does not answer" if silent else "",
    )
