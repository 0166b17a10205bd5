"""Runs families: every cluster of them, judged, with progress on stderr. The same options give the same rows."""

import argparse
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing import get_context

from rich.console import Console

from common.errors import ConfigError
from evaluation.families import parts
from evaluation.families.family import Family, FamilySets, read_families
from evaluation.families.judge import ClusterOutcome, judge
from evaluation.families.plans import FamilyPlan, plans
from evaluation.families.run_plan import run_plan
from evaluation.families.truth.assemble import reaches

TRAIN_SEED, REPORT_SEED = 1, 201
HOURS = 0.5  # of each family: small, for `make eval`; bounds get narrow with ten hours and more


@dataclass(frozen=True, slots=True)
class Options:
    """What to run. names: of families; empty: all of the list. hours: simulated, of each family."""

    train: bool = False
    names: tuple[str, ...] = ()
    hours: float = HOURS
    processes: int = os.cpu_count() or 1

    @property
    def seed(self) -> int:
        return TRAIN_SEED if self.train else REPORT_SEED


SMALL = Options()


def parse(arguments: Sequence[str]) -> Options:
    """The options after ``families``; SystemExit with usage for others."""
    parser = argparse.ArgumentParser(prog="python -m evaluation families", description=__doc__)
    parser.add_argument("--train", action="store_true", help="the training families; the page is not written")
    parser.add_argument(
        "--hours",
        type=_hours,
        default=HOURS,
        help="simulated hours of each family (%(default)s), four times that of healthy ones",
    )
    parser.add_argument("--families", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at a time (%(default)s)")
    found = parser.parse_args(arguments)
    return Options(found.train, tuple(found.families), found.hours, max(1, found.processes))


def _hours(text: str) -> float:
    hours = float(text)
    if not 0.25 <= hours <= 1000.0:
        raise argparse.ArgumentTypeError(f"{text}: expected 0.25 to 1000; less leaves no time for a fault")
    return hours


def chosen(options: Options, sets: FamilySets) -> list[Family]:
    """The families to run, in the order of their declaration.

    ConfigError for a name that is in the other list or nowhere, and for parts that the simulator lacks.
    """
    among = sets.train if options.train else sets.report
    known = [family.name for family in among]
    if unknown := [name for name in options.names if name not in known]:
        which = "training family" if options.train else "report family"
        raise ConfigError(f"no {which} {', '.join(unknown)}, expected some of {', '.join(known)}")
    families = [family for family in among if not options.names or family.name in options.names]
    parts.check(families)
    return families


def run(options: Options, progress: Console) -> list[ClusterOutcome]:
    """The outcome of every cluster, by family."""
    families = chosen(options, read_families())
    work = [plan for family in families for plan in plans(family, options.seed, options.hours)]
    found, began_s = [], time.monotonic()
    for outcome in outcomes(work, options.processes):
        found.append(outcome)
        line = f"{len(outcome.faults)} faults, {outcome.pages} pages, {len(outcome.false)} of them false"
        spent_s = time.monotonic() - began_s
        progress.print(f"{len(found)} of {len(work)}, {spent_s:.0f} s: {outcome.family}: {line}", highlight=False)
    return found


def outcomes(work: Sequence[FamilyPlan], processes: int) -> Iterator[ClusterOutcome]:
    """The outcome of each plan, in order, as soon as it is known."""
    if processes == 1:
        yield from map(_one, work)
        return
    with get_context("spawn").Pool(processes) as pool:
        yield from pool.imap(_one, work, chunksize=1)


def _one(plan: FamilyPlan) -> ClusterOutcome:
    found = run_plan(plan)
    return judge(found, reaches(found))
