"""Fault campaigns on the simulated cluster: what each detector and correlation report of every kind of fault.

``python -m evaluation.campaigns.run`` reports on seeds that nothing was tuned on; ``--tune`` runs the tuning seeds and
prints every error.
"""

import argparse
from collections.abc import Sequence
from multiprocessing import get_context

from rich.console import Console

from evaluation.campaigns import tables
from evaluation.campaigns.judge import CampaignResult, judge
from evaluation.campaigns.plan import Plan, faulty, healthy
from evaluation.campaigns.rows import Row, rows
from evaluation.campaigns.run_plan import run_plan

TUNE, REPORT = (1, 2, 3), (103, 104)


def run(seeds: Sequence[int] = REPORT, processes: int = 1) -> list[Row]:
    """The rows of all campaigns of these seeds."""
    return rows(results(seeds, processes))


def results(seeds: Sequence[int], processes: int = 1, healthy_hours: int = 0) -> list[CampaignResult]:
    """Every campaign of the seeds, in order; with ``healthy_hours`` only that many hours without faults."""
    plans = [plan for seed in seeds for plan in (*faulty(seed), healthy(seed))]
    if healthy_hours:
        plans = [healthy(seed, healthy_hours) for seed in seeds]
    if processes == 1:
        return [_one(plan) for plan in plans]
    with get_context("spawn").Pool(processes) as pool:
        return pool.map(_one, plans, chunksize=1)


def _one(plan: Plan) -> CampaignResult:
    return judge(run_plan(plan))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true", help="the tuning seeds, with every error")
    parser.add_argument("--seeds", type=int, nargs="+", help="other seeds")
    parser.add_argument("--healthy-hours", type=int, default=0, help="no faults, that many hours a seed")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    found = results(options.seeds or (TUNE if options.tune else REPORT), options.processes, options.healthy_hours)
    console = Console(width=150)
    for table in tables.tables(rows(found)):
        console.print(table)
    if options.tune or options.healthy_hours:
        for line in tables.errors(found):
            console.print(line, markup=False, highlight=False)


if __name__ == "__main__":
    main()
