"""Outcomes of clusters as figures: shares and rates with their exact bounds."""

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.families.bounds import f1_bounds, rate_bounds, share_bounds
from evaluation.families.judge import ClusterOutcome, FaultOutcome

DAYS_PER_WEEK = 7.0
NODES = 1000.0


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with its 95 % bounds. of: faults, pages or GPUs that it rests on; the value of nothing is NaN."""

    value: float
    low: float
    high: float
    of: float


def share(hits: int, of: int) -> Figure:
    return Figure(hits / of if of else math.nan, *share_bounds(hits, of), of)


def share_of(faults: Sequence[FaultOutcome], which: Callable[[FaultOutcome], bool]) -> Figure:
    """Share of the faults for which ``which`` holds."""
    return share(sum(map(which, faults)), len(faults))


def counted(clusters: Sequence[ClusterOutcome]) -> list[FaultOutcome]:
    """Faults that somebody should be notified of: the announced and the invisible ones are left out."""
    return [fault for cluster in clusters for fault in cluster.faults if fault.counts]


def paged(clusters: Sequence[ClusterOutcome]) -> list[FaultOutcome]:
    """Faults that somebody has to be paged for."""
    return [fault for fault in counted(clusters) if fault.page_due]


def precision(clusters: Sequence[ClusterOutcome]) -> Figure:
    """Pages that name root and kind of a fault, of all pages."""
    return share(sum(each.right for each in clusters), sum(each.pages for each in clusters))


def node_weeks(clusters: Sequence[ClusterOutcome]) -> float:
    return sum(each.node_days for each in clusters) / DAYS_PER_WEEK


def false_rate(clusters: Sequence[ClusterOutcome]) -> Figure:
    """False pages per 1,000 nodes and week. of: node-weeks."""
    weeks, events = node_weeks(clusters), sum(len(each.false) for each in clusters)
    exposure = weeks / NODES
    return Figure(events / exposure if exposure else math.nan, *rate_bounds(events, exposure), weeks)


def member_f1(faults: Sequence[FaultOutcome]) -> Figure:
    """F1 of the GPUs that pages name, over all faults of single GPUs: counted together, missed faults included."""
    among = [fault for fault in faults if fault.members]
    true = sum(len(fault.members & fault.named) for fault in among)
    wrong = sum(len(fault.members ^ fault.named) for fault in among)
    value = 2 * true / (2 * true + wrong) if true + wrong else math.nan
    return Figure(value, *f1_bounds(true, wrong), true + wrong)


def delay(faults: Sequence[FaultOutcome], quantile: float) -> float:
    """Quantile of the seconds from the begin of a fault to its first page; without a page it is infinitely late."""
    if not faults:
        return math.nan
    return float(np.quantile([fault.delay_s for fault in faults], quantile, method="higher"))


def false_kinds(clusters: Sequence[ClusterOutcome]) -> Counter[tuple[str, str, str]]:
    """False pages by family, kind and severity."""
    return Counter(
        (each.family, str(page.incident.kind), str(page.incident.severity)) for each in clusters for page in each.false
    )
