"""Labelled campaigns on the simulated cluster: what each detector and correlation make of every kind of fault.

``python -m evaluation.campaigns.run`` reports on seeds that nothing was tuned on; ``--tune`` plays the others and
tells of everything that went wrong.
"""

import argparse
from collections.abc import Sequence
from multiprocessing import get_context

from rich.console import Console

from evaluation.campaigns import tables
from evaluation.campaigns.judge import Judged, judge
from evaluation.campaigns.plan import Plan, faulty, healthy
from evaluation.campaigns.play import play
from evaluation.campaigns.rows import Row, rows

TUNE, REPORT = (1, 2, 3), (103, 104)


def run(seeds: Sequence[int] = REPORT, processes: int = 1) -> list[Row]:
    """The rows of ``campaigns_rows`` for these seeds."""
    return rows(judged(seeds, processes))


def judged(seeds: Sequence[int], processes: int = 1, quiet_hours: int = 0) -> list[Judged]:
    """Every campaign of the seeds, played and judged, in their order; with ``quiet_hours`` only health, that long."""
    plans = [plan for seed in seeds for plan in (*faulty(seed), healthy(seed))]
    if quiet_hours:
        plans = [healthy(seed, quiet_hours) for seed in seeds]
    if processes == 1:
        return [_one(plan) for plan in plans]
    with get_context("spawn").Pool(processes) as pool:
        return pool.map(_one, plans, chunksize=1)


def _one(plan: Plan) -> Judged:
    return judge(play(plan))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true", help="the seeds to tune on, with everything that went wrong")
    parser.add_argument("--seeds", type=int, nargs="+", help="other seeds")
    parser.add_argument("--quiet-hours", type=int, default=0, help="only health, for so many hours a seed")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    found = judged(options.seeds or (TUNE if options.tune else REPORT), options.processes, options.quiet_hours)
    console = Console(width=150)
    for table in tables.tables(rows(found)):
        console.print(table)
    if options.tune or options.quiet_hours:
        for line in tables.mistakes(found):
            console.print(line, markup=False, highlight=False)


if __name__ == "__main__":
    main()
