"""The pages that a method which scores single series would send: its alerts, grouped by device.

Alerts of one device that are at most ``GAP_NS`` apart are one page. A page belongs to a fault when it begins while the
fault lasts (``FaultImpact.lasts``) and one of its objects is affected by the fault, as a finding that may spread would
be, or is of a host whose job may wait for the fault. It names the root when it is about the root's device or an end of
the root's link (``FaultImpact.devices``), and then it belongs to the fault too. Every other page is false.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from evaluation.campaigns.plan import INTERVAL_S
from evaluation.campaigns.recording import Ints, Recording
from evaluation.campaigns.run_plan import CampaignRun
from evaluation.campaigns.truth import EARLY_NS, LATE_NS, FaultImpact
from evaluation.series.signals import DAY_S, Floats
from telemetry.findings import FindingKind

GAP_NS = 120 * NS_PER_S  # a cluster recovers for 170 s at least: a longer gap would merge the pages of two faults

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Labels:
    """The ground truth of one campaign for pages: a row a fault. begins_ns, ends_ns: int64[faults].

    ends_ns: int64 maximum while a fault has no end. visible: bool[faults], whether it can be seen at all.
    affected, named: bool[faults, series], what an alert of a series is about. devices: int64[series].
    all_series: series that never change included. days: observed.
    """

    begins_ns: Ints
    ends_ns: Ints
    visible: Bools
    affected: Bools
    named: Bools
    devices: Ints
    all_series: int
    days: float
    healthy: bool


@dataclass(frozen=True, slots=True)
class Alerts:
    """Points of series with their scores, in any order. series: row of the recording."""

    scores: Floats
    times_ns: Ints
    series: Ints

    def above(self, level: float) -> "Alerts":
        """Those with a score of at least ``level``."""
        kept = self.scores >= level
        return Alerts(self.scores[kept], self.times_ns[kept], self.series[kept])


@dataclass(frozen=True, slots=True)
class Pages:
    """sent_ns: int64[pages]. belongs, names: bool[faults, pages], whether it belongs to a fault and names its root."""

    sent_ns: Ints
    belongs: Bools
    names: Bools


def labels(run: CampaignRun, causes: Sequence[FaultImpact], recording: Recording, counts_ns: int) -> Labels:
    """counts_ns: what is before does not count."""
    numbers = {name: number for number, name in enumerate(sorted(set(recording.devices)))}
    about = list(zip(recording.objects, recording.devices, strict=True))
    named = [[device in cause.devices for _, device in about] for cause in causes]
    affected = [
        [cause.affects(FindingKind.DEVIATION, ref) or device in cause.waiting_hosts for ref, device in about]
        for cause in causes
    ]
    shape = len(causes), len(about)
    forever_ns = np.iinfo(np.int64).max - LATE_NS
    return Labels(
        begins_ns=np.array([cause.truth.start_ns for cause in causes], np.int64),
        ends_ns=np.array([cause.truth.end_ns or forever_ns for cause in causes], np.int64),
        visible=np.array([cause.visible for cause in causes], np.bool_),
        affected=np.array(affected, np.bool_).reshape(shape) | np.array(named, np.bool_).reshape(shape),
        named=np.array(named, np.bool_).reshape(shape),
        devices=np.array([numbers[device] for device in recording.devices], np.int64),
        all_series=run.series,
        days=run.plan.lasts_s / DAY_S - (counts_ns - run.start_ns) / NS_PER_S / DAY_S,
        healthy=run.plan.healthy,
    )


def pages(of: Labels, alerts: Alerts) -> Pages:
    """The pages of alerts, grouped by device."""
    return _grouped(of, alerts, of.devices[alerts.series])


def false_events(of: Labels, alerts: Alerts) -> int:
    """The same grouped by series: how often one began to alert without a fault that affects it."""
    return _count(~np.any(_grouped(of, alerts, alerts.series).belongs, axis=0))


def _grouped(of: Labels, alerts: Alerts, groups: Ints) -> Pages:
    order = np.lexsort((alerts.times_ns, groups))
    groups, times_ns, series = groups[order], alerts.times_ns[order], alerts.series[order]
    begins = np.ones(order.size, np.bool_)
    begins[1:] = (np.diff(groups) != 0) | (np.diff(times_ns) > GAP_NS)
    starts = np.flatnonzero(begins)
    sent_ns = times_ns[starts]
    lasting = (sent_ns >= of.begins_ns[:, None] - EARLY_NS) & (sent_ns <= of.ends_ns[:, None] + LATE_NS)
    if not starts.size:
        return Pages(sent_ns, lasting, lasting)
    affected = np.logical_or.reduceat(of.affected[:, series], starts, axis=1)
    return Pages(sent_ns, lasting & affected, lasting & of.named[:, series[starts]])


def incidents(run: CampaignRun, causes: Sequence[FaultImpact]) -> Pages:
    """The product's incidents as pages, more strictly: an incident names the root, or the fault affects its root."""
    newest = list(run.newest.values())
    sent_ns = [run.first[each.id].fired_ns for each in newest]
    lasting = [[cause.lasts(each.onset_ns) for each in newest] for cause in causes]
    names = [[cause.named_by(each.kind, each.root) for each in newest] for cause in causes]
    near = [[each.root in cause.objects | cause.waiting for each in newest] for cause in causes]
    shape = len(causes), len(newest)
    lasts, named, close = (np.array(rows, np.bool_).reshape(shape) for rows in (lasting, names, near))
    return Pages(np.array(sent_ns, np.int64), lasts & (named | close), lasts & named)


def false_findings(run: CampaignRun, causes: Sequence[FaultImpact]) -> int:
    """The product's counterpart of ``false_events``: findings that no fault explains."""
    return sum(not any(cause.explains(finding) for cause in causes) for finding in run.findings.values())


@dataclass(frozen=True, slots=True)
class Figures:
    """Pages of one method over many campaigns; NaN where the denominator is 0.

    recall, root_named: shares of the visible faults with a page that belongs to them, and with one that names the root.
    pages: that belong to a fault, per visible fault. delay: mean of the first page of each, in intervals.
    per_day, healthy_per_day: false pages per day, in all campaigns and in those without faults.
    """

    recall: float
    root_named: float
    pages: float
    precision: float
    f1: float
    delay: float
    false: int
    per_day: float
    healthy_per_day: float


def figures(campaigns: Sequence[Labels], sent: Sequence[Pages]) -> Figures:
    """``sent[i]`` are the pages of ``campaigns[i]``."""
    pairs = list(zip(campaigns, sent, strict=True))
    faults = sum(_count(of.visible) for of in campaigns)
    found = sum(_count(of.visible & np.any(pages.belongs, axis=1)) for of, pages in pairs)
    named = sum(_count(of.visible & np.any(pages.names, axis=1)) for of, pages in pairs)
    false = [_count(~np.any(pages.belongs, axis=0)) for pages in sent]
    belong = sum(pages.sent_ns.size for pages in sent) - sum(false)
    delays = [delay for of, pages in pairs for delay in _delays(of, pages)]
    healthy = [at for at, of in enumerate(campaigns) if of.healthy]
    recall, precision = _share(found, faults), _share(belong, belong + sum(false))
    return Figures(
        recall=recall,
        root_named=_share(named, faults),
        pages=_share(belong, faults),
        precision=precision,
        f1=_share(2 * precision * recall, precision + recall),
        delay=_share(sum(delays), len(delays)),
        false=sum(false),
        per_day=_share(sum(false), sum(of.days for of in campaigns)),
        healthy_per_day=_share(sum(false[at] for at in healthy), sum(campaigns[at].days for at in healthy)),
    )


def _delays(of: Labels, pages: Pages) -> list[float]:
    """Intervals from the begin of each fault to its first page."""
    found = np.flatnonzero(of.visible & np.any(pages.belongs, axis=1)).tolist()
    first_ns = [int(pages.sent_ns[pages.belongs[at]].min()) for at in found]
    return [(ns - int(of.begins_ns[at])) / NS_PER_S / INTERVAL_S for at, ns in zip(found, first_ns, strict=True)]


def _count(which: Bools) -> int:
    return int(np.count_nonzero(which))


def _share(part: float, total: float) -> float:
    return part / total if total else float("nan")
