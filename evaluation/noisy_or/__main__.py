"""The greedy cover of the product beside the noisy-or, on the same training families: first pages, and the cost.

``python -m evaluation.noisy_or`` (``--hours``, ``--families``, ``--seed``): every cluster twice, once with each, then a
storm of findings on 4,096 hosts. The parameters of the noisy-or were looked at on every other family only, the first
half here; the second half was left out of that.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from analytics.config import EngineConfig
from analytics.correlate import cover
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.correlator import Correlator
from analytics.engine import Engine
from analytics.worker import build_engine
from benchmarks.loads.storm import START_NS, large_cluster, mixed
from common.units import NS_PER_S
from evaluation.families.family import read_families
from evaluation.families.judge import ClusterOutcome, FaultOutcome, judge
from evaluation.families.plans import FamilyPlan, plans
from evaluation.families.run import HOURS, TRAIN_SEED, Options, chosen
from evaluation.families.run_plan import run_plan
from evaluation.families.truth.assemble import reaches
from evaluation.noisy_or.choose import choose as noisy_or

CHOOSERS: dict[str, cover.Chooser] = {"greedy cover": cover.choose, "noisy-or": noisy_or}
_HEADINGS = ("families", "chooser", "faults", "root first", "exactly one", "severity right", "in time")
_PAGES = ("pages", "right", "false")
_STORM_HOSTS, _STORM_FINDINGS = 4096, 1000
_COUNTED: tuple[Callable[[FaultOutcome], bool], ...] = (
    lambda fault: fault.root_first,
    lambda fault: fault.exactly_one,
    lambda fault: fault.severity_right,
    lambda fault: fault.in_time,
)


@dataclass
class Half:
    """Every other training family, and what each chooser made of its clusters."""

    name: str
    families: frozenset[str]
    outcomes: dict[str, list[ClusterOutcome]] = field(default_factory=lambda: {name: [] for name in CHOOSERS})


def halves() -> tuple[Half, Half]:
    """The training families in the order of their declaration, every other one."""
    names = [family.name for family in read_families().train]
    return Half("looked at", frozenset(names[::2])), Half("left out", frozenset(names[1::2]))


def outcome(plan: FamilyPlan, chooser: cover.Chooser) -> ClusterOutcome:
    """What the judge says of a cluster whose causes ``chooser`` chose."""

    def build(config: EngineConfig, workers: Executor) -> Engine:
        engine = build_engine(config, workers)
        engine.correlator = Correlator(CorrelateConfig(interval_s=config.interval_s), chooser)
        return engine

    found = run_plan(plan, build=build)
    return judge(found, reaches(found))


def rows(of: Sequence[Half]) -> Iterator[tuple[str, ...]]:
    """A row for each half and chooser; columns as in the headings."""
    for half in of:
        for name, clusters in half.outcomes.items():
            faults = [fault for each in clusters for fault in each.faults if fault.counts]
            figures = (len(faults), *(sum(map(which, faults)) for which in _COUNTED))
            pages = (sum(each.pages for each in clusters), sum(each.right for each in clusters))
            yield half.name, name, *map(str, (*figures, *pages, sum(len(each.false) for each in clusters)))


def storm_ms(chooser: cover.Chooser) -> float:
    """CPU milliseconds of the step in which 1,000 findings of all kinds arrive; the least of three."""
    topology, findings, spent_ms = large_cluster(_STORM_HOSTS), mixed(_STORM_HOSTS, _STORM_FINDINGS), []
    for _ in range(3):
        correlator = Correlator(chooser=chooser)
        correlator.step(START_NS, (), topology, ())  # the topology is known before
        began_s = time.process_time()
        correlator.step(START_NS + 5 * NS_PER_S, findings, topology, ())
        spent_ms.append(1e3 * (time.process_time() - began_s))
    return min(spent_ms)


def compare(options: Options, seed: int, progress: Console) -> tuple[Half, Half]:
    """Every cluster with each chooser."""
    found = halves()
    for family in chosen(options, read_families()):
        half = next(half for half in found if family.name in half.families)
        for plan in plans(family, seed, options.hours):
            for name, chooser in CHOOSERS.items():
                half.outcomes[name].append(outcome(plan, chooser))
        progress.print(f"{family.name}: done", highlight=False)
    return found


def _drawn(headings: Sequence[str], cells: Sequence[Sequence[str]]) -> Table:
    drawn = Table()
    for heading in headings:
        drawn.add_column(heading, justify="left" if heading in ("families", "chooser") else "right")
    for row in cells:
        drawn.add_row(*row)
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m evaluation.noisy_or", description=__doc__)
    parser.add_argument("--hours", type=float, default=HOURS, help="simulated hours of each family (%(default)s)")
    parser.add_argument("--families", nargs="+", default=[], metavar="NAME", help="only these training families")
    parser.add_argument("--seed", type=int, default=TRAIN_SEED, help="of the clusters (%(default)s)")
    given = parser.parse_args()
    options = Options(train=True, names=tuple(given.families), hours=given.hours, processes=1)
    found = compare(options, given.seed, Console(stderr=True))
    console = Console(width=None if sys.stdout.isatty() else 170)
    console.print(_drawn((*_HEADINGS, *_PAGES), list(rows(found))))
    storms = [(name, f"{storm_ms(chooser):.0f}") for name, chooser in CHOOSERS.items()]
    console.print(_drawn(("chooser", "1,000 findings at once, CPU ms"), storms))


if __name__ == "__main__":
    main()
