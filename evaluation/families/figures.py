"""Outcomes of clusters as figures: shares, rates and quantiles with their bounds."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.families.bounds import (
    clustered_rate_bounds,
    clustered_share_bounds,
    f1_of_share,
    quantile_bounds,
    rate_bounds,
    share_bounds,
)
from evaluation.families.judge import ClusterOutcome, FaultOutcome

DAYS_PER_WEEK = 7.0
NODES = 1000.0
COST_MIN = 60.0  # GPU-seconds: a minute of one GPU; below it a ratio says nothing
WITHIN = 1.5  # factor between the stated and the true cost


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % bounds. of: faults, pages or GPUs that it rests on; the value of nothing is NaN.

    low, high: events as independent. wide_low, wide_high: campaigns as independent; NaN where there is no such bound.
    """

    value: float
    low: float
    high: float
    of: float
    wide_low: float = math.nan
    wide_high: float = math.nan


def share(counts: Sequence[tuple[int, int]]) -> Figure:
    """counts: hits and what they are of, by campaign."""
    hits, of = sum(hit for hit, _ in counts), sum(each for _, each in counts)
    return Figure(hits / of if of else math.nan, *share_bounds(hits, of), of, *clustered_share_bounds(counts))


def share_of(faults: Sequence[FaultOutcome], which: Callable[[FaultOutcome], bool]) -> Figure:
    """Share of the faults for which ``which`` holds."""
    return share(_counts((fault.campaign, int(which(fault)), 1) for fault in faults))


def _counts(found: Iterable[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """Sums of the two numbers by campaign."""
    hits, of = Counter[str](), Counter[str]()
    for campaign, hit, each in found:
        hits[campaign] += hit
        of[campaign] += each
    return [(hits[campaign], of[campaign]) for campaign in of]


def counted(clusters: Sequence[ClusterOutcome]) -> list[FaultOutcome]:
    """Faults that somebody should be notified of: the announced and the invisible ones are left out."""
    return [fault for cluster in clusters for fault in cluster.faults if fault.counts]


def paged(clusters: Sequence[ClusterOutcome]) -> list[FaultOutcome]:
    """Faults that somebody has to be paged for."""
    return [fault for fault in counted(clusters) if fault.page_due]


def precision(clusters: Sequence[ClusterOutcome]) -> Figure:
    """Pages that are the first to name root and kind of a fault, of all pages."""
    return share([(each.right, each.pages) for each in clusters])


def findings(clusters: Sequence[ClusterOutcome]) -> Figure:
    """True findings of all."""
    return share([(each.findings[True], each.findings.total()) for each in clusters])


def node_weeks(clusters: Sequence[ClusterOutcome]) -> float:
    return sum(each.node_days for each in clusters) / DAYS_PER_WEEK


def false_rate(clusters: Sequence[ClusterOutcome]) -> Figure:
    """False pages per 1,000 nodes and week. of: node-weeks."""
    counts = [(len(each.false), each.node_days / DAYS_PER_WEEK / NODES) for each in clusters]
    events, exposure = sum(event for event, _ in counts), sum(each for _, each in counts)
    value = events / exposure if exposure else math.nan
    return Figure(value, *rate_bounds(events, exposure), node_weeks(clusters), *clustered_rate_bounds(counts))


def member_f1(faults: Sequence[FaultOutcome]) -> Figure:
    """F1 of the GPUs that pages name, over all faults of single GPUs: counted together, missed faults included."""
    return _f1((fault.campaign, fault.members, fault.named) for fault in faults if fault.members)


def jobs_f1(faults: Sequence[FaultOutcome]) -> Figure:
    """F1 of the jobs that first pages name, against those that lost time."""
    costs = ((fault.campaign, fault.cost) for fault in faults)
    return _f1((campaign, cost.jobs, cost.stated_jobs) for campaign, cost in costs if cost is not None)


def _f1(found: Iterable[tuple[str, frozenset[object], frozenset[object]]]) -> Figure:
    """By campaign: what is true, and what was named."""
    jaccard = share(_counts((campaign, len(true & named), len(true | named)) for campaign, true, named in found))
    bounds = (jaccard.low, jaccard.high), (jaccard.wide_low, jaccard.wide_high)
    (low, high), (wide_low, wide_high) = (tuple(map(f1_of_share, each)) for each in bounds)
    return Figure(f1_of_share(jaccard.value), low, high, jaccard.of, wide_low, wide_high)


def quantile(values: Sequence[float], part: float) -> Figure:
    """Quantile of values that are not below 0."""
    if not values:
        return Figure(math.nan, math.nan, math.nan, 0)
    low, high = quantile_bounds(values, part)
    return Figure(float(np.quantile(values, part, method="higher")), max(0.0, low), high, len(values))


def delay(faults: Sequence[FaultOutcome], part: float) -> Figure:
    """Quantile of the seconds from the begin of a fault to its first page; without a page it is infinitely late."""
    return quantile([fault.delay_s for fault in faults], part)


def lateness(faults: Sequence[FaultOutcome], part: float) -> Figure:
    """The same in times of what each may take."""
    return quantile([fault.delay_s / fault.limit_s for fault in faults], part)


def cost_ratios(faults: Sequence[FaultOutcome], *, first: bool) -> list[tuple[str, float]]:
    """Stated cost in times of the true one, by campaign, of faults that cost something. A missed fault states 0.

    first: up to the first page, as that states it; else over the whole fault, as the incident states it in the end.
    """
    costs = [(fault.campaign, fault.cost) for fault in faults if fault.cost is not None]
    pairs = [
        (name, each.stated_first, each.first) if first else (name, each.stated, each.final) for name, each in costs
    ]
    return [(name, stated / true) for name, stated, true in pairs if true >= COST_MIN]


def within_factor(ratios: Sequence[tuple[str, float]]) -> Figure:
    """Share of the ratios between 1 / ``WITHIN`` and ``WITHIN``."""
    return share(_counts((name, int(1.0 / WITHIN <= ratio <= WITHIN), 1) for name, ratio in ratios))


def false_kinds(clusters: Sequence[ClusterOutcome]) -> Counter[tuple[str, str, str]]:
    """False pages by family, kind and severity."""
    return Counter(
        (each.family, str(page.incident.kind), str(page.incident.severity)) for each in clusters for page in each.false
    )
