"""Findings and incidents of one campaign against its truth."""

from collections import Counter, defaultdict
from dataclasses import dataclass, field

import numpy as np

from common.units import NS_PER_S
from evaluation.campaigns.plan import INTERVAL_S
from evaluation.campaigns.play import Played, without
from evaluation.campaigns.truth import Reached, reached
from telemetry.incidents import Incident


@dataclass(slots=True)
class Event:
    """One fault and what told of it. Delays are in intervals of event time, from its begin.

    by: first true finding of each detector; direct: first finding of each detector that is about the root itself.
    right, wrong: incidents that name its root, and that name something else because of it. told: delay of the first.
    page_right: one named it already in its first version. costs: when one first told of lost GPU time, NaN if none did.
    """

    fault: str
    at_s: float
    paired: bool
    shows: bool
    by: dict[str, float] = field(default_factory=dict)
    direct: dict[str, float] = field(default_factory=dict)
    right: list[Incident] = field(default_factory=list)
    wrong: list[Incident] = field(default_factory=list)
    told: float = float("nan")
    kind_right: bool = False
    page_right: bool = False
    costs: float = float("nan")


@dataclass(slots=True)
class Judged:
    """One campaign. seed: of its cluster. true, false: findings by detector.

    false_by: the false ones by fault at that time ('' for none) and detector. false_incidents: not of any fault.
    series_days: what was watched. muted: the incidents if nobody heard one of the detectors that told of anything.
    """

    seed: int
    events: list[Event]
    true: Counter[str]
    false: Counter[str]
    false_by: Counter[tuple[str, str]]
    false_incidents: list[Incident]
    series_days: float
    days: float
    healthy: bool
    muted: "dict[str, Judged]" = field(default_factory=dict)


def judge(played: Played) -> Judged:
    """Every finding and incident belongs to a fault that lasts, or is false."""
    causes = reached(played.truths, played.topology)
    judged = _incidents(played, causes)
    for finding in played.findings.values():
        delayed = {at: (finding.observed_ns - c.truth.start_ns) / NS_PER_S / INTERVAL_S for at, c in enumerate(causes)}
        mine = [at for at, cause in enumerate(causes) if cause.true(finding)]
        (judged.true if mine else judged.false)[finding.detector] += 1
        if not mine:
            during = [cause.truth.fault for cause in causes if cause.lasts(finding.onset_ns)]
            judged.false_by[during[0] if during else "", finding.detector] += 1
        for at in mine:
            _keep_first(judged.events[at].by, finding.detector, delayed[at])
            if causes[at].direct(finding):
                _keep_first(judged.events[at].direct, finding.detector, delayed[at])
    for name in sorted(judged.true | judged.false):
        judged.muted[name] = _incidents(without(played, name), causes)
    return judged


def _incidents(played: Played, causes: list[Reached]) -> Judged:
    plan, days = played.plan, played.plan.lasts_s / 86400.0
    events = [_event(cause, causes, played.start_ns) for cause in causes]
    judged = Judged(plan.seed, events, Counter(), Counter(), Counter(), [], played.series * days, days, plan.healthy)
    for key in sorted(played.newest):
        first, newest = played.first[key], played.newest[key]
        lasting = [at for at, cause in enumerate(causes) if cause.lasts(newest.onset_ns)]
        if not lasting:
            judged.false_incidents.append(newest)
            continue
        named = [at for at in lasting if causes[at].named_by(newest.kind, newest.root)]
        near = [at for at in lasting if newest.root in causes[at].things]
        at = (named or near or lasting[-1:])[0]
        event = judged.events[at]
        (event.right if named else event.wrong).append(newest)
        if named:
            event.kind_right |= newest.kind is causes[at].truth.expected
            event.page_right |= causes[at].named_by(first.kind, first.root)
            begun_ns = causes[at].truth.start_ns
            event.told = _earlier(event.told, (first.fired_ns - begun_ns) / NS_PER_S / INTERVAL_S)
            if key in played.costs_ns:
                event.costs = _earlier(event.costs, (played.costs_ns[key] - begun_ns) / NS_PER_S / INTERVAL_S)
    return judged


def _earlier(known: float, new: float) -> float:
    """The earlier of two; NaN is none."""
    return float(np.fmin(known, new))


def _keep_first(known: dict[str, float], detector: str, delay: float) -> None:
    known[detector] = min(delay, known.get(detector, delay))


def _event(cause: Reached, among: list[Reached], start_ns: int) -> Event:
    truth = cause.truth
    others = (other.truth for other in among if other is not cause)
    paired = any(other.start_ns < truth.end_ns and truth.start_ns < other.end_ns for other in others)
    return Event(truth.fault, (truth.start_ns - start_ns) / NS_PER_S, paired, cause.shows)


def by_fault(judged: list[Judged]) -> dict[str, list[Event]]:
    """The events of all campaigns that can be seen, by kind of fault."""
    found: defaultdict[str, list[Event]] = defaultdict(list)
    for one in judged:
        for event in one.events:
            if event.shows:
                found[event.fault].append(event)
    return dict(sorted(found.items()))
