"""All that campaigns report, as plain values: one row a fault, detector or stretch of time; NaN: nothing is known."""

import math
from collections import Counter
from collections.abc import Iterable
from typing import Any

from evaluation.campaigns.judge import Event, Judged, by_fault

Row = dict[str, Any]
DELAY_MAX = 3.0  # intervals: what is told later than that is counted as late


def rows(found: list[Judged]) -> list[Row]:
    """Rows of all tables, told apart by ``table``."""
    events = by_fault(found)
    together = {"all": [event for of_kind in events.values() for event in of_kind]}
    incidents = [_incidents(fault, of_kind) for fault, of_kind in (*events.items(), *together.items())]
    by_pair = [_faults(fault, of_kind) for fault, of_kind in events.items()]
    told = [_precision(found), *_false(found), *_false_kinds(found), *_detectors(found), *_muted(found)]
    return [*incidents, *told, *(row for of_fault in by_pair for row in of_fault)]


def _incidents(fault: str, events: list[Event]) -> Row:
    """One kind of fault at the level of incidents."""
    right = [event for event in events if event.right]
    about = sum(len(event.right) + len(event.wrong) for event in events)
    return {
        "table": "incidents",
        "fault": fault,
        "events": len(events),
        "recall": _share(len(right), len(events)),
        "precision": _share(sum(len(event.right) for event in events), about),
        "right_at_once": _share(sum(event.page_right for event in events), len(events)),
        "right_kind": _share(sum(event.kind_right for event in events), len(events)),
        "exactly_one": _share(sum(len(event.right) + len(event.wrong) == 1 for event in events), len(events)),
        "incidents_of_others": sum(len(event.wrong) for event in events),
        "delay_intervals": _mean(event.told for event in right),
        "delay_worst": round(max((event.told for event in right), default=math.nan), 2),
        "in_time": _share(sum(event.told <= DELAY_MAX for event in right), len(events)),
        "cost_delay": _mean(event.costs for event in right if not math.isnan(event.costs)),
    }


def _precision(found: list[Judged]) -> Row:
    """All incidents: those that name what broke, those that name something else meanwhile, those without a reason."""
    events = [event for of_kind in by_fault(found).values() for event in of_kind]
    right, wrong = sum(len(event.right) for event in events), sum(len(event.wrong) for event in events)
    false, named = sum(len(one.false_incidents) for one in found), sum(bool(event.right) for event in events)
    precision, recall = _share(right, right + wrong + false), _share(named, len(events))
    f1 = round(2 * precision * recall / (precision + recall), 3) if precision + recall else math.nan
    told = {"incidents": right + wrong + false, "right": right, "of_others": wrong, "false": false}
    return {"table": "precision", **told, "precision": precision, "recall": recall, "f1": f1}


def _faults(fault: str, events: list[Event]) -> list[Row]:
    """One kind of fault as each detector sees it; only those that ever did."""
    detectors = sorted({name for event in events for name in event.by})
    return [
        {
            "table": "faults",
            "fault": fault,
            "detector": name,
            "events": len(events),
            "recall": _share(sum(name in event.by for event in events), len(events)),
            "recall_direct": _share(sum(name in event.direct for event in events), len(events)),
            "delay_intervals": _mean(event.by[name] for event in events if name in event.by),
        }
        for name in detectors
    ]


def _detectors(found: list[Judged]) -> list[Row]:
    """Each detector: how often it is right, and the events that only it saw."""
    events = [event for of_kind in by_fault(found).values() for event in of_kind]
    health = [one for one in found if one.healthy]
    watched, quiet = (sum(one.series_days for one in these) for these in (found, health))
    rows = []
    for name in _names(found):
        true, false = sum(one.true[name] for one in found), sum(one.false[name] for one in found)
        in_health = sum(one.false[name] for one in health)
        rows.append(
            {
                "table": "detectors",
                "detector": name,
                "findings": true + false,
                "precision": _share(true, true + false),
                "events_seen": sum(name in event.by for event in events),
                "delay_intervals": _mean(event.by[name] for event in events if name in event.by),
                "only_witness": sum(set(event.by) == {name} for event in events),
                "only_direct_witness": sum(set(event.direct) == {name} for event in events),
                "first_witness": sum(name in event.by and event.by[name] <= min(event.by.values()) for event in events),
                "false_per_million_series_days": _share(false * 1e6, watched),
                "in_health_per_million_series_days": _share(in_health * 1e6, quiet),
            }
        )
    return rows


def _muted(found: list[Judged]) -> list[Row]:
    """What incidents lose when one detector is not heard; numbers of events and of incidents, added delay."""
    rows = []
    for name in _names(found):
        pairs = [(one, one.muted[name]) for one in found if name in one.muted]
        events = [pair for full, deaf in pairs for pair in zip(full.events, deaf.events, strict=True) if pair[0].shows]
        lost = [full for full, deaf in events if full.right and not deaf.right]
        wrong = sum(_astray(deaf) - _astray(full) for full, deaf in pairs)
        later = [deaf.told - full.told for full, deaf in events if full.right and deaf.right]
        earns = {"names": lost, "keeps wrong ones away": wrong > 0, "sooner": any(delay > 0 for delay in later)}
        rows.append(
            {
                "table": "muted",
                "detector": name,
                "events_lost": len(lost),
                "of": ", ".join(sorted({event.fault for event in lost})),
                "wrong_incidents_more": wrong,
                "told_later": sum(delay > 0 for delay in later),
                "later_intervals": _mean(delay for delay in later if delay > 0),
                "told_sooner": sum(delay < 0 for delay in later),
                "earns": ", ".join(word for word, true in earns.items() if true) or "nothing here",
            }
        )
    return rows


def _astray(one: Judged) -> int:
    """Incidents that name what is not broken."""
    return len(one.false_incidents) + sum(len(event.wrong) for event in one.events)


def _false(found: list[Judged]) -> list[Row]:
    """False findings and incidents: in hours in which nothing breaks, and between faults."""
    rows = []
    for name, part in (("health", True), ("campaigns", False)):
        these = [one for one in found if one.healthy is part]
        days, series_days = sum(one.days for one in these), sum(one.series_days for one in these)
        false = sum(one.false.total() for one in these)
        rows.append(
            {
                "table": "false",
                "during": name,
                "hours": round(24 * days, 1),
                "false_findings": false,
                "false_findings_per_million_series_days": _share(false * 1e6, series_days),
                "false_incidents": sum(len(one.false_incidents) for one in these),
                "false_incidents_per_day": _share(sum(len(one.false_incidents) for one in these), days),
            }
        )
    return rows


def _false_kinds(found: list[Judged]) -> list[Row]:
    """False incidents by what they claim."""
    days = sum(one.days for one in found)
    kinds = Counter((str(incident.kind), str(incident.severity)) for one in found for incident in one.false_incidents)
    return [
        {
            "table": "claimed",
            "kind": kind,
            "severity": severity,
            "false_incidents": count,
            "per_day": _share(count, days),
        }
        for (kind, severity), count in sorted(kinds.items())
    ]


def _names(found: list[Judged]) -> list[str]:
    return sorted({name for one in found for name in (*one.true, *one.false)})


def _share(part: float, whole: float) -> float:
    return round(part / whole, 3) if whole else math.nan


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return round(sum(known) / len(known), 2) if known else math.nan
