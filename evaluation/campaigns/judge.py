"""Findings and incidents of one campaign, judged against its ground truth."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from common.units import NS_PER_S
from evaluation.campaigns.plan import INTERVAL_S
from evaluation.campaigns.run_plan import CampaignRun, muted
from evaluation.campaigns.truth import FaultImpact, impacts
from evaluation.series.signals import DAY_S
from telemetry.incidents import Incident


@dataclass(slots=True)
class FaultResult:
    """One fault and what reported it. Delays are in intervals of event time, from its begin.

    visible: whether it can be seen at all. paired: another fault overlaps it.
    by: first true finding of each detector. direct: first finding of each detector that is about the root itself.
    right, wrong: incidents that name its root, and that name something else because of it.
    delay: of the first right incident. kind_right: one is of the expected kind. right_first: one named the root already
    in its first version. cost_delay: when one first reported lost GPU time, NaN if none did.
    """

    fault: str
    at_s: float
    paired: bool
    visible: bool
    by: dict[str, float] = field(default_factory=dict)
    direct: dict[str, float] = field(default_factory=dict)
    right: list[Incident] = field(default_factory=list)
    wrong: list[Incident] = field(default_factory=list)
    delay: float = float("nan")
    kind_right: bool = False
    right_first: bool = False
    cost_delay: float = float("nan")


@dataclass(slots=True)
class CampaignResult:
    """One campaign. seed: of its cluster. true, false: findings by detector.

    false_by: the false ones by fault at that time ('' for none) and detector. false_incidents: not of any fault.
    series_days: observed. muted: the same campaign without the findings of one detector, by detector.
    """

    seed: int
    faults: list[FaultResult]
    series_days: float
    days: float
    healthy: bool
    true: Counter[str] = field(default_factory=Counter)
    false: Counter[str] = field(default_factory=Counter)
    false_by: Counter[tuple[str, str]] = field(default_factory=Counter)
    false_incidents: list[Incident] = field(default_factory=list)
    muted: "dict[str, CampaignResult]" = field(default_factory=dict)


def judge(run: CampaignRun) -> CampaignResult:
    """Every finding and incident is of a fault that lasts, or false."""
    causes = impacts(run.truths, run.topology)
    result = _incidents(run, causes)
    for finding in run.findings.values():
        delays = {at: (finding.observed_ns - c.truth.start_ns) / NS_PER_S / INTERVAL_S for at, c in enumerate(causes)}
        explained_by = [at for at, cause in enumerate(causes) if cause.explains(finding)]
        (result.true if explained_by else result.false)[finding.detector] += 1
        if not explained_by:
            during = [cause.truth.fault for cause in causes if cause.lasts(finding.onset_ns)]
            result.false_by[during[0] if during else "", finding.detector] += 1
        for at in explained_by:
            _keep_first(result.faults[at].by, finding.detector, delays[at])
            if causes[at].direct(finding):
                _keep_first(result.faults[at].direct, finding.detector, delays[at])
    for name in sorted(result.true | result.false):
        result.muted[name] = _incidents(muted(run, name), causes)
    return result


def _incidents(run: CampaignRun, causes: list[FaultImpact]) -> CampaignResult:
    plan, days = run.plan, run.plan.lasts_s / DAY_S
    faults = [_fault_result(cause, causes, run.start_ns) for cause in causes]
    result = CampaignResult(
        seed=plan.seed, faults=faults, series_days=run.series * days, days=days, healthy=plan.healthy
    )
    for key in sorted(run.newest):
        first, newest = run.first[key], run.newest[key]
        lasting = [at for at, cause in enumerate(causes) if cause.lasts(newest.onset_ns)]
        if not lasting:
            result.false_incidents.append(newest)
            continue
        named = [at for at in lasting if causes[at].named_by(newest.kind, newest.root)]
        near = [at for at in lasting if newest.root in causes[at].objects]
        at = (named or near or lasting[-1:])[0]
        fault = result.faults[at]
        (fault.right if named else fault.wrong).append(newest)
        if named:
            fault.kind_right |= newest.kind is causes[at].truth.expected
            fault.right_first |= causes[at].named_by(first.kind, first.root)
            begun_ns = causes[at].truth.start_ns
            fault.delay = _earlier(fault.delay, (first.fired_ns - begun_ns) / NS_PER_S / INTERVAL_S)
            if key in run.costs_ns:
                fault.cost_delay = _earlier(fault.cost_delay, (run.costs_ns[key] - begun_ns) / NS_PER_S / INTERVAL_S)
    return result


def _earlier(known: float, new: float) -> float:
    """The earlier of two; NaN is none."""
    return float(np.fmin(known, new))


def _keep_first(known: dict[str, float], detector: str, delay: float) -> None:
    known[detector] = min(delay, known.get(detector, delay))


def _fault_result(cause: FaultImpact, among: list[FaultImpact], start_ns: int) -> FaultResult:
    truth = cause.truth
    others = (other.truth for other in among if other is not cause)
    paired = any(other.start_ns < truth.end_ns and truth.start_ns < other.end_ns for other in others)
    return FaultResult(truth.fault, (truth.start_ns - start_ns) / NS_PER_S, paired, cause.visible)


def by_fault(results: list[CampaignResult]) -> dict[str, list[FaultResult]]:
    """The visible faults of all campaigns, by name."""
    found: defaultdict[str, list[FaultResult]] = defaultdict(list)
    for result in results:
        for fault in result.faults:
            if fault.visible:
                found[fault.fault].append(fault)
    return dict(sorted(found.items()))
