"""The figures that have a target: today's value, its bounds, and whether these prove it."""

import math
from collections.abc import Sequence
from typing import Any

from evaluation.families import figures
from evaluation.families.figures import Figure
from evaluation.families.judge import ClusterOutcome, FaultOutcome

Row = dict[str, Any]


def targets(clusters: Sequence[ClusterOutcome]) -> list[Row]:
    """The figures that have a target, over all families of the run, and those that stand beside them."""
    faults, due = figures.counted(clusters), figures.paged(clusters)
    alone = [fault for fault in faults if not fault.together]
    pairs = [fault for fault in faults if fault.together == 1]
    more = [fault for fault in faults if fault.together > 1]
    hard, slow = ([fault for fault in due if fault.hard is which] for which in (True, False))
    healthy = [each for each in clusters if each.healthy]
    return [
        _target("root named first, faults alone", figures.share_of(alone, _first), 0.95, "faults"),
        _target("root named in the end, faults alone", figures.share_of(alone, _later), None, "faults"),
        _target("root named first, pairs", figures.share_of(pairs, _first), 0.85, "faults"),
        _target("root named in the end, pairs", figures.share_of(pairs, _later), None, "faults"),
        _target("root named first, three and more", figures.share_of(more, _first), None, "faults"),
        _target("severity right at first", figures.share_of(faults, _severity), None, "faults"),
        _target("exactly one incident, the right one", figures.share_of(faults, _exactly_one), 0.95, "faults"),
        _target("precision of pages", figures.precision(clusters), 0.95, "pages"),
        _target("member F1, GPUs that straggle or hang", figures.member_f1(faults), 0.95, "GPUs"),
        _target("false pages per 1,000 nodes and week", figures.false_rate(clusters), 1.0, "node-weeks", at_most=True),
        _target("the same, healthy families alone", figures.false_rate(healthy), 1.0, "node-weeks", at_most=True),
        _target("hard faults: page within an interval and 5 s", figures.share_of(hard, _in_time), 0.95, "faults"),
        _target("slow faults: page within three intervals", figures.share_of(slow, _in_time), 0.95, "faults"),
        *_delays("hard faults", hard),
        *_delays("slow faults", slow),
        *_costs([fault for fault in due if not fault.together]),
    ]


def _delays(name: str, faults: Sequence[FaultOutcome]) -> list[Row]:
    return [
        _target(
            f"page p95 of {name}, of what they may take", figures.lateness(faults, 0.95), 1.0, "faults", at_most=True
        ),
        _target(f"page p95 of {name}, s", figures.delay(faults, 0.95), None, "faults"),
    ]


def _costs(alone: Sequence[FaultOutcome]) -> list[Row]:
    """Of faults alone: what two faults cost one job together is of neither."""
    found = []
    for name, first in (("at the first page", True), ("in the end", False)):
        ratios = figures.cost_ratios(alone, first=first)
        middle = figures.quantile([ratio for _, ratio in ratios], 0.5)
        found.append(_target(f"GPU time lost, {name}: stated / true, median", middle, None, "faults"))
        share = figures.within_factor(ratios)
        found.append(_target(f"GPU time lost, {name}: within a factor of {figures.WITHIN:g}", share, None, "faults"))
    return [*found, _target("F1 of the jobs that first pages name", figures.jobs_f1(alone), None, "jobs")]


def _first(fault: FaultOutcome) -> bool:
    return fault.right_first


def _later(fault: FaultOutcome) -> bool:
    return fault.root_later


def _severity(fault: FaultOutcome) -> bool:
    return fault.severity_right


def _exactly_one(fault: FaultOutcome) -> bool:
    return fault.exactly_one


def _in_time(fault: FaultOutcome) -> bool:
    return fault.in_time


def _target(name: str, found: Figure, target: float | None, of: str, *, at_most: bool = False) -> Row:
    """target: None for what is only reported. at_most: less is better."""
    sign = "≤" if at_most else "≥"
    return {
        "table": "targets",
        "figure": name,
        "target": "" if target is None else f"{sign} {target:g}",
        "today": found.value,
        "from": found.low,
        "to": found.high,
        "by campaign from": found.wide_low,
        "by campaign to": found.wide_high,
        "of": f"{found.of:.3g} {of}",
        "verdict": "" if target is None else _verdict(found, target, at_most),
    }


def _verdict(found: Figure, target: float, at_most: bool) -> str:
    """Proven where all bounds are on one side of the target; else too little was run to tell."""
    if math.isnan(found.value):
        return "not run"
    value = found.value
    low = float(min(found.low, math.inf if math.isnan(found.wide_low) else found.wide_low))
    high = float(max(found.high, -math.inf if math.isnan(found.wide_high) else found.wide_high))
    if at_most:
        value, low, high, target = -value, -high, -low, -target
    if low >= target:
        return "proven"
    if high < target:
        return "missed, proven"
    return "met, not proven" if value >= target else "missed, not proven"
