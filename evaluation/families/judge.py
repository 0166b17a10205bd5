"""The judge: what the first pages said, against what was true.

A page that comes without the faults too is the background's, and false. Any other belongs to the fault whose root it
names, else to the fault that can reach the object that it names, the one that began last; else it is false. One wrong
page is not "exactly one incident", and later versions do not count.
"""

import math
from collections import Counter
from dataclasses import dataclass, field

from analytics.correlate.texts.phrases import short
from common.units import NS_PER_S
from evaluation.families import parts
from evaluation.families.costs import Cost, cost_of
from evaluation.families.counterfactual.background import background_findings, background_firing, background_pages
from evaluation.families.delays import Delay, delay_of
from evaluation.families.paging import Page
from evaluation.families.run_plan import FamilyRun
from evaluation.families.truth.reach import Reach
from evaluation.families.truth.severity import evidence_group, is_hard, limit_s, severities_due
from telemetry.incidents import IncidentKind, Severity
from telemetry.objects import ObjectKind, ObjectRef

MEMBER_FAULTS = frozenset({"straggler-gpu", "hung-gpu", "nccl-hang"})
OF_GPUS = frozenset({IncidentKind.STRAGGLER, IncidentKind.GPU_FAULT})


@dataclass(slots=True)
class FaultOutcome:
    """One fault and its pages. campaign: the cluster, by name.

    due: severities that are right for the first notice, empty: nobody may be paged. together: faults that overlap it.
    first: its first page; where none is due, the first notice. others: its further pages. duplicates: those of them
    that name its root too. right: pages that are right, 0 or 1: a second one brings nothing. unpaged: further incidents
    of it that page nobody. root_later: the root that people know in the end is the right one, by any of its pages.
    members, named: GPUs that stand for it in truth and in pages, for faults of single GPUs. cost: stated and true.
    delay: the parts of ``delay_s``; None without a page, or where it rests on what is older than the fault.
    """

    campaign: str
    fault: str
    at_s: float
    hard: bool
    together: int
    visible: bool
    due: frozenset[Severity]
    limit_s: float
    delay_s: float = math.inf
    first: Page | None = None
    root_first: bool = False
    kind_first: bool = False
    text_first: bool = False
    severity_right: bool = False
    root_later: bool = False
    others: list[Page] = field(default_factory=list)
    duplicates: int = 0
    right: int = 0
    unpaged: int = 0
    cost: Cost | None = None
    delay: Delay | None = None
    members: frozenset[ObjectRef] = frozenset()
    named: frozenset[ObjectRef] = frozenset()

    @property
    def counts(self) -> bool:
        """Whether a notice is due at all: nobody is notified of planned work, and nothing shows the invisible."""
        return self.visible and bool(self.due)

    @property
    def page_due(self) -> bool:
        """Whether somebody has to be paged."""
        return self.counts and Severity.INFO not in self.due

    @property
    def right_first(self) -> bool:
        return self.root_first and self.kind_first

    @property
    def exactly_one(self) -> bool:
        return self.right_first and not self.others

    @property
    def in_time(self) -> bool:
        return self.delay_s <= self.limit_s


@dataclass(slots=True)
class ClusterOutcome:
    """One cluster of a family. false: pages of no fault, ``background`` of them as without the faults.

    right: first pages that name the root and kind of a fault. unpaged_false: incidents of no fault that page nobody.
    findings: true and false ones, ``background_findings`` of them as without the faults. false_findings: the false ones
    by detector.
    """

    family: str
    healthy: bool
    seed: int
    node_days: float
    start_ns: int = 0
    faults: list[FaultOutcome] = field(default_factory=list)
    pages: int = 0
    right: int = 0
    false: list[Page] = field(default_factory=list)
    background: int = 0
    unpaged_false: int = 0
    findings: Counter[bool] = field(default_factory=Counter)
    background_findings: int = 0
    false_findings: Counter[str] = field(default_factory=Counter)


def judge(run: FamilyRun, causes: list[Reach]) -> ClusterOutcome:
    """Every page is of one fault, or false; a page of planned work is false. causes: of all faults, as in the run."""
    plan = run.plan
    node_days = plan.config.hosts * plan.lasts_s / 86_400.0
    outcome = ClusterOutcome(plan.family.name, plan.family.faults is None, plan.seed, node_days, run.start_ns)
    outcome.faults = [_outcome(cause, causes, run) for cause in causes]
    outcome.pages = len(run.pages)
    background = background_pages(run.pages, run.branches)
    outcome.background = len(background)
    for number, page in enumerate(run.pages):
        at = None if number in background else _belongs(page, causes)
        if at is None or causes[at].truth.planned:
            outcome.false.append(page)
            continue
        _add(outcome.faults[at], page, causes[at], run.roots)
    outcome.right = sum(fault.right for fault in outcome.faults)
    _judge_unpaged(outcome, causes, run)
    for fault, cause in zip(outcome.faults, causes, strict=True):
        if fault.page_due:
            fault.cost = cost_of(fault.first, cause.harm, run.newest)
            fault.delay = delay_of(fault.first, cause.truth.start_ns, run) if fault.first else None
    _judge_findings(outcome, causes, run)
    return outcome


def _judge_unpaged(outcome: ClusterOutcome, causes: list[Reach], run: FamilyRun) -> None:
    """Incidents that page nobody: the first one is the notice of a fault that needs no page, the others add nothing."""
    paged = {page.incident.id for page in run.pages}
    background = background_firing(run.notices.values(), run.branches)
    for notice in sorted(run.notices.values(), key=lambda each: (each.at_ns, each.incident.id)):
        if notice.incident.id in paged:
            continue
        at = None if notice.incident.id in background else _belongs(notice, causes)
        if at is None:
            outcome.unpaged_false += 1
            continue
        fault, cause = outcome.faults[at], causes[at]
        if fault.first is None and Severity.INFO in fault.due:
            fault.root_later = cause.is_root(notice.incident.root)
            _keep_first(fault, notice, cause)
        else:
            fault.unpaged += 1


def _judge_findings(outcome: ClusterOutcome, causes: list[Reach], run: FamilyRun) -> None:
    background = background_findings(run.findings.values(), run.branches)
    outcome.background_findings = len(background)
    for finding in run.findings.values():
        true = finding.id not in background and any(cause.explains(finding) for cause in causes)
        outcome.findings[true] += 1
        if not true:
            outcome.false_findings[finding.detector] += 1


def _outcome(cause: Reach, among: list[Reach], run: FamilyRun) -> FaultOutcome:
    truth = cause.truth
    others = (other.truth for other in among if other is not cause)
    together = sum(other.start_ns < truth.end_ns and truth.start_ns < other.end_ns for other in others)
    evidence_s = parts.evidence_s(run.plan.family, evidence_group(cause), run.plan.config.interval_s)
    of_gpu = truth.fault in MEMBER_FAULTS and truth.root.kind is ObjectKind.GPU
    return FaultOutcome(
        f"{run.plan.family.name}/{run.plan.seed}",
        truth.fault,
        (truth.start_ns - run.start_ns) / NS_PER_S,
        is_hard(cause),
        together,
        cause.visible,
        severities_due(cause, truth.end_ns),
        limit_s(cause, evidence_s),
        members=frozenset({truth.root}) if of_gpu else frozenset(),
    )


def _belongs(page: Page, causes: list[Reach]) -> int | None:
    """Position of the fault of a page: one that it names; else one that reaches what it names; of several the last."""
    incident = page.incident
    possible = [
        at for at, cause in enumerate(causes) if cause.lasts(incident.onset_ns) and cause.truth.start_ns <= page.at_ns
    ]
    named = [at for at in possible if causes[at].is_root(incident.root)]
    kind_too = [at for at in named if _right(page, causes[at])]
    near = [at for at in possible if causes[at].reaches(incident.root)]
    found = kind_too or named or near
    return max(found, key=lambda at: causes[at].truth.start_ns) if found else None


def _right(page: Page, cause: Reach) -> bool:
    return cause.is_root(page.incident.root) and cause.is_kind(page.incident.kind, page.at_ns)


def _add(fault: FaultOutcome, page: Page, cause: Reach, roots: dict[str, ObjectRef]) -> None:
    """One more page of the fault; pages come in order of time."""
    incident = page.incident
    fault.root_later |= cause.is_root(roots.get(incident.id, incident.root))
    fault.right = max(fault.right, int(_right(page, cause)))
    if fault.members and incident.kind in OF_GPUS:
        fault.named |= _members(incident.root, cause)
    if fault.first is None:
        _keep_first(fault, page, cause)
        return
    fault.others.append(page)
    fault.duplicates += cause.is_root(incident.root)


def _keep_first(fault: FaultOutcome, page: Page, cause: Reach) -> None:
    incident = page.incident
    fault.first = page
    fault.delay_s = (page.at_ns - cause.truth.start_ns) / NS_PER_S
    fault.root_first = cause.is_root(incident.root)
    fault.kind_first = cause.is_kind(incident.kind, page.at_ns)
    fault.text_first = _says(incident.title, cause)
    fault.severity_right = incident.severity in severities_due(cause, page.at_ns)


def _says(title: str, cause: Reach) -> bool:
    """Whether a title names the root, or an end of it, in full; of a GPU the name for people is enough."""
    names = {name for root in cause.roots for name in (root.name, *(end.name for end in cause.graph.ports(root)))}
    names |= {short(root, cause.graph) for root in cause.roots if root.kind is ObjectKind.GPU}
    return any(name in title for name in names)


def _members(root: ObjectRef, cause: Reach) -> frozenset[ObjectRef]:
    """GPUs that a root stands for: itself, all of a host, none of what is neither."""
    if root.kind is ObjectKind.GPU:
        return frozenset({root})
    return frozenset(cause.graph.gpus_of(root.name)) if root.kind is ObjectKind.DEVICE else frozenset()
