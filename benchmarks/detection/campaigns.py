"""Labelled campaigns on the simulated plant: what each detector and correlation make of every kind of fault.

``python -m benchmarks.detection.campaigns`` reports on seeds that nothing was tuned on; ``--tune`` plays the others and
tells of everything that went wrong.
"""

import argparse
import math
from collections.abc import Iterable, Sequence
from multiprocessing import get_context
from typing import Any

from rich.console import Console

from benchmarks.detection import campaigns_tables
from benchmarks.detection.campaigns_judge import Event, Judged, by_fault, judge
from benchmarks.detection.campaigns_plan import Plan, faulty, healthy
from benchmarks.detection.campaigns_play import play

Row = dict[str, Any]
TUNE, REPORT = (1, 2, 3), (101, 102)


def run(seeds: Sequence[int] = REPORT, processes: int = 1) -> list[Row]:
    """Rows of three tables, told apart by ``table``: ``incidents``, ``faults`` x detector, ``detectors``."""
    return rows(judged(seeds, processes))


def judged(seeds: Sequence[int], processes: int = 1) -> list[Judged]:
    """Every campaign of the seeds, played and judged, in their order."""
    plans = [plan for seed in seeds for plan in (*faulty(seed), healthy(seed))]
    if processes == 1:
        return [_one(plan) for plan in plans]
    with get_context("spawn").Pool(processes) as pool:
        return pool.map(_one, plans, chunksize=1)


def _one(plan: Plan) -> Judged:
    return judge(play(plan))


def rows(found: list[Judged]) -> list[Row]:
    """All that is reported, as plain values; shares and means are NaN where there is nothing to divide by."""
    events = by_fault(found)
    together = {"all": [event for of_kind in events.values() for event in of_kind]}
    incidents = [_incidents(fault, of_kind) for fault, of_kind in (*events.items(), *together.items())]
    by_pair = [_faults(fault, of_kind) for fault, of_kind in events.items()]
    return [*incidents, *_health(found), *(row for of_fault in by_pair for row in of_fault), *_detectors(found)]


def _incidents(fault: str, events: list[Event]) -> Row:
    """One kind of fault at the level of incidents."""
    right = [event for event in events if event.right]
    return {
        "table": "incidents",
        "fault": fault,
        "events": len(events),
        "right_root": _share(len(right), len(events)),
        "right_at_once": _share(sum(event.page_right for event in events), len(events)),
        "right_kind": _share(sum(event.kind_right for event in events), len(events)),
        "exactly_one": _share(sum(len(event.right) + len(event.wrong) == 1 for event in events), len(events)),
        "incidents_of_others": sum(len(event.wrong) for event in events),
        "delay_intervals": _mean(event.told for event in right),
    }


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
    names = sorted({name for one in found for name in (*one.true, *one.false)})
    health = [one for one in found if one.healthy]
    series_days = sum(one.series_days for one in health)
    rows = []
    for name in names:
        true, false = sum(one.true[name] for one in found), sum(one.false[name] for one in found)
        rows.append(
            {
                "table": "detectors",
                "detector": name,
                "findings": true + false,
                "precision": _share(true, true + false),
                "events_seen": sum(name in event.by for event in events),
                "only_witness": sum(set(event.by) == {name} for event in events),
                "only_direct_witness": sum(set(event.direct) == {name} for event in events),
                "first_witness": sum(name in event.by and event.by[name] <= min(event.by.values()) for event in events),
                "false_in_health": sum(one.false[name] for one in health),
                "false_per_million_series_days": _share(sum(one.false[name] for one in health) * 1e6, series_days),
            }
        )
    return rows


def _health(found: list[Judged]) -> list[Row]:
    """False findings and incidents: in hours in which nothing breaks, and between faults."""
    rows = []
    for name, part in (("health", True), ("between faults", False)):
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


def _share(part: float, whole: float) -> float:
    return round(part / whole, 3) if whole else math.nan


def _mean(values: Iterable[float]) -> float:
    known = list(values)
    return round(sum(known) / len(known), 2) if known else math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true", help="the seeds to tune on, with everything that went wrong")
    parser.add_argument("--seeds", type=int, nargs="+", help="other seeds")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    found = judged(options.seeds or (TUNE if options.tune else REPORT), options.processes)
    console = Console(width=150)
    for table in campaigns_tables.tables(rows(found)):
        console.print(table)
    if options.tune:
        for line in campaigns_tables.mistakes(found):
            console.print(line, markup=False, highlight=False)


if __name__ == "__main__":
    main()
