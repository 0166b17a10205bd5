"""Results of campaigns as plain rows: one a fault, detector or period; NaN: nothing is known."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from evaluation.campaigns.judge import CampaignResult, FaultResult, by_fault

Row = dict[str, Any]
DELAY_MAX = 3.0  # intervals: an incident after more than that is late


def rows(results: list[CampaignResult]) -> list[Row]:
    """Rows of all tables; ``table`` names the one of a row."""
    faults = by_fault(results)
    total = {"all": [fault for of_kind in faults.values() for fault in of_kind]}
    return [
        *(_incidents(name, of_kind) for name, of_kind in (*faults.items(), *total.items())),
        _precision(results),
        *_false(results),
        *_false_kinds(results),
        *_detectors(results),
        *_muted(results),
        *(row for name, of_kind in faults.items() for row in _faults(name, of_kind)),
    ]


def _incidents(name: str, faults: list[FaultResult]) -> Row:
    """One kind of fault at the level of incidents."""
    right = [fault for fault in faults if fault.right]
    about = sum(len(fault.right) + len(fault.wrong) for fault in faults)
    return {
        "table": "incidents",
        "fault": name,
        "events": len(faults),
        "recall": _share(len(right), len(faults)),
        "precision": _share(sum(len(fault.right) for fault in faults), about),
        "right_in_first_version": _share(sum(fault.right_first for fault in faults), len(faults)),
        "right_kind": _share(sum(fault.kind_right for fault in faults), len(faults)),
        "exactly_one": _share(sum(len(fault.right) + len(fault.wrong) == 1 for fault in faults), len(faults)),
        "wrong_root": sum(len(fault.wrong) for fault in faults),
        "delay_intervals": _mean(fault.delay for fault in right),
        "delay_max": round(max((fault.delay for fault in right), default=math.nan), 2),
        "in_time": _share(sum(fault.delay <= DELAY_MAX for fault in right), len(faults)),
        "cost_delay": _mean(fault.cost_delay for fault in right if not math.isnan(fault.cost_delay)),
    }


def _precision(results: list[CampaignResult]) -> Row:
    """All incidents: those that name the root, those that name something else meanwhile, those without a fault."""
    faults = [fault for of_kind in by_fault(results).values() for fault in of_kind]
    right, wrong = sum(len(fault.right) for fault in faults), sum(len(fault.wrong) for fault in faults)
    false, named = sum(len(result.false_incidents) for result in results), sum(bool(fault.right) for fault in faults)
    precision, recall = _share(right, right + wrong + false), _share(named, len(faults))
    f1 = round(2 * precision * recall / (precision + recall), 3) if precision + recall else math.nan
    counts = {"incidents": right + wrong + false, "right": right, "wrong_root": wrong, "false": false}
    return {"table": "precision", **counts, "precision": precision, "recall": recall, "f1": f1}


def _faults(name: str, faults: list[FaultResult]) -> list[Row]:
    """One kind of fault by detector; only detectors that ever reported it."""
    detectors = sorted({detector for fault in faults for detector in fault.by})
    return [
        {
            "table": "faults",
            "fault": name,
            "detector": detector,
            "events": len(faults),
            "recall": _share(sum(detector in fault.by for fault in faults), len(faults)),
            "recall_direct": _share(sum(detector in fault.direct for fault in faults), len(faults)),
            "delay_intervals": _mean(fault.by[detector] for fault in faults if detector in fault.by),
        }
        for detector in detectors
    ]


def _detectors(results: list[CampaignResult]) -> list[Row]:
    """Each detector: its precision, and the faults that only it reported."""
    faults = [fault for of_kind in by_fault(results).values() for fault in of_kind]
    healthy = [result for result in results if result.healthy]
    all_days, healthy_days = (sum(result.series_days for result in these) for these in (results, healthy))
    rows = []
    for name in _names(results):
        true, false = sum(result.true[name] for result in results), sum(result.false[name] for result in results)
        healthy_false = sum(result.false[name] for result in healthy)
        rows.append(
            {
                "table": "detectors",
                "detector": name,
                "findings": true + false,
                "precision": _share(true, true + false),
                "events_found": sum(name in fault.by for fault in faults),
                "delay_intervals": _mean(fault.by[name] for fault in faults if name in fault.by),
                "only_detector": sum(set(fault.by) == {name} for fault in faults),
                "only_direct_detector": sum(set(fault.direct) == {name} for fault in faults),
                "first_detector": sum(
                    name in fault.by and fault.by[name] <= min(fault.by.values()) for fault in faults
                ),
                "false_per_million_series_days": _share(false * 1e6, all_days),
                "healthy_false_per_million_series_days": _share(healthy_false * 1e6, healthy_days),
            }
        )
    return rows


def _muted(results: list[CampaignResult]) -> list[Row]:
    """What incidents lose without the findings of one detector: faults, wrong incidents added, delay added."""
    rows = []
    for name in _names(results):
        pairs = [(result, result.muted[name]) for result in results if name in result.muted]
        faults = [
            pair for full, less in pairs for pair in zip(full.faults, less.faults, strict=True) if pair[0].visible
        ]
        lost = [full for full, less in faults if full.right and not less.right]
        wrong = sum(_wrong_incidents(less) - _wrong_incidents(full) for full, less in pairs)
        added = [less.delay - full.delay for full, less in faults if full.right and less.right]
        benefits = {"recall": lost, "precision": wrong > 0, "speed": any(delay > 0 for delay in added)}
        rows.append(
            {
                "table": "muted",
                "detector": name,
                "events_lost": len(lost),
                "of": ", ".join(sorted({fault.fault for fault in lost})),
                "wrong_incidents_added": wrong,
                "later": sum(delay > 0 for delay in added),
                "intervals_later": _mean(delay for delay in added if delay > 0),
                "sooner": sum(delay < 0 for delay in added),
                "improves": ", ".join(name for name, true in benefits.items() if true) or "nothing here",
            }
        )
    return rows


def _wrong_incidents(result: CampaignResult) -> int:
    """Incidents that name what is not broken."""
    return len(result.false_incidents) + sum(len(fault.wrong) for fault in result.faults)


def _false(results: list[CampaignResult]) -> list[Row]:
    """False findings and incidents: in healthy hours, and in campaigns with faults."""
    rows = []
    for name, healthy in (("healthy", True), ("campaigns", False)):
        these = [result for result in results if result.healthy is healthy]
        days, series_days = sum(result.days for result in these), sum(result.series_days for result in these)
        false = sum(result.false.total() for result in these)
        rows.append(
            {
                "table": "false",
                "during": name,
                "hours": round(24 * days, 1),
                "false_findings": false,
                "false_findings_per_million_series_days": _share(false * 1e6, series_days),
                "false_incidents": sum(len(result.false_incidents) for result in these),
                "false_incidents_per_day": _share(sum(len(result.false_incidents) for result in these), days),
            }
        )
    return rows


def _false_kinds(results: list[CampaignResult]) -> list[Row]:
    """False incidents by kind and severity."""
    days = sum(result.days for result in results)
    kinds = Counter(
        (str(incident.kind), str(incident.severity)) for result in results for incident in result.false_incidents
    )
    return [
        {
            "table": "false_kinds",
            "kind": kind,
            "severity": severity,
            "false_incidents": count,
            "per_day": _share(count, days),
        }
        for (kind, severity), count in sorted(kinds.items())
    ]


def _names(results: list[CampaignResult]) -> list[str]:
    return sorted({name for result in results for name in (*result.true, *result.false)})


def _share(part: float, total: float) -> float:
    return round(part / total, 3) if total else math.nan


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return round(sum(known) / len(known), 2) if known else math.nan
