"""Health alone, for as long as is asked for: clusters without faults, through every detector and the alerts stage.

Clusters come in a fixed order: the first of every healthy family, then the second of each, and so on. So a longer run
begins with all clusters of a shorter one, and one that is interrupted is a shorter one: ``--resume`` goes on with it.
"""

import argparse
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from rich.console import Console

from common.errors import ConfigError
from evaluation import report
from evaluation.families import figures, page, run
from evaluation.families.bounds import rate_bounds
from evaluation.families.family import Family, FamilySets, read_families
from evaluation.families.judge import ClusterOutcome
from evaluation.families.kept import KeptOutcomes, digest_of_sources
from evaluation.families.parts import with_pods
from evaluation.families.plans import FamilyPlan, healthy_plan
from evaluation.families.rows import TITLES, rows
from evaluation.families.targets import Row, targets

NODE_DAYS = 10.0
HOURS = 1.0  # simulated, of one cluster: a long run has many jobs, seeds and first hours of a cluster
# At least, of one cluster: what a tick costs whatever its size is shared by more nodes; beyond that the links between
# switches grow faster than the nodes (docs/evaluation/speed.md). Not 16: with one leaf for two rails of eight hosts and
# four spines, the two-tier fabric of 16 hosts has half of the bandwidth that its hosts have, and is congested.
HOSTS = 32
_FIGURE = "the same, healthy families alone"
_KINDS = "Pages by kind and severity, all families together"


@dataclass(frozen=True, slots=True)
class HealthOptions:
    """What to run. node_days: at least, of all families together. names: of healthy families; empty: all of the list.

    hosts: the smallest cluster; families that declare more keep their size. pod: hosts that share leaves in a two-tier
    fabric, see ``parts.with_pods``; 0: as the simulator has it. resume: do not run again what the same code has run.
    """

    node_days: float = NODE_DAYS
    train: bool = False
    names: tuple[str, ...] = ()
    hosts: int = HOSTS
    processes: int = os.cpu_count() or 1
    resume: bool = False
    pod: int = 0

    @property
    def seed(self) -> int:
        return run.TRAIN_SEED if self.train else run.REPORT_SEED


TEN_NODE_DAYS = HealthOptions()


def parse(arguments: Sequence[str]) -> HealthOptions:
    """The options after ``health``; SystemExit with usage for others."""
    parser = argparse.ArgumentParser(prog="python -m evaluation health", description=__doc__)
    parser.add_argument("--node-days", type=_positive, default=NODE_DAYS, help="simulated, in all (%(default)s)")
    parser.add_argument("--train", action="store_true", help="the training families; the page is not written")
    parser.add_argument("--families", nargs="+", default=[], metavar="NAME", help="only these")
    parser.add_argument("--hosts", type=int, default=HOSTS, help="of a cluster, at least (%(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="at a time (%(default)s)")
    parser.add_argument("--pod", type=_pod, default=0, help="hosts that share leaves; 0: as the simulator has it")
    parser.add_argument("--resume", action="store_true", help="go on where a run of the same code and clusters ended")
    found = parser.parse_args(arguments)
    names = tuple(found.families)
    processes = max(1, found.processes)
    return HealthOptions(found.node_days, found.train, names, found.hosts, processes, found.resume, found.pod)


def _positive(text: str) -> float:
    days = float(text)
    if not days > 0.0:
        raise argparse.ArgumentTypeError(f"{text}: expected more than 0")
    return days


def _pod(text: str) -> int:
    hosts = int(text)
    if hosts < 0:
        raise argparse.ArgumentTypeError(f"{text}: expected 0 or more")
    return hosts


def chosen(options: HealthOptions, sets: FamilySets) -> list[Family]:
    """The healthy families to run. ConfigError for an unknown name, and for a family with faults."""
    families = run.chosen(run.Options(options.train, options.names), sets)
    if faulty := [family.name for family in families if family.faults is not None and options.names]:
        raise ConfigError(f"{', '.join(faulty)}: a family with faults; health is of families without")
    return [family for family in families if family.faults is None]


def clusters(families: Sequence[Family], options: HealthOptions) -> list[FamilyPlan]:
    """As many clusters as it takes, in the order of the module's docstring."""
    large = [family.model_copy(update={"hosts": max(family.hosts, options.hosts)}) for family in families]
    found: list[FamilyPlan] = []
    node_days = 0.0
    for number in count():
        for family in large:
            if node_days >= options.node_days:
                return found
            plan = healthy_plan(family, options.seed, number, HOURS)
            found.append(replace(plan, config=with_pods(plan.config, options.pod)) if options.pod else plan)
            node_days += family.hosts * HOURS / 24.0
    raise AssertionError("count has no end")


def kept_outcomes(options: HealthOptions, folder: Path) -> KeptOutcomes:
    """The file in this folder with the outcomes of these families and sizes."""
    of: dict[str, object] = {"sources": digest_of_sources(), "seed": options.seed, "families": options.names}
    of |= {"hosts": options.hosts, "pod": options.pod}
    return KeptOutcomes(folder / f"health-{'train' if options.train else 'report'}.jsonl", of)


def measure(
    options: HealthOptions, progress: Console, keep: Callable[[Sequence[ClusterOutcome]], None], kept: KeptOutcomes
) -> list[ClusterOutcome]:
    """The outcome of every cluster, in order. keep: called with all so far after each. kept: of the run to go on with.

    ConfigError where that is of other code or options.
    """
    work = clusters(chosen(options, read_families()), options)
    found: list[ClusterOutcome] = []
    if options.resume:
        found = kept.read()[: len(work)]
        progress.print(f"{len(found)} of {len(work)} clusters were run before", highlight=False)
    else:
        kept.begin()
    began_s, total = time.monotonic(), sum(plan.config.hosts * plan.lasts_s for plan in work) / 86_400.0
    for outcome in run.outcomes(work[len(found) :], options.processes):
        kept.add(outcome)
        found.append(outcome)
        days, false = sum(each.node_days for each in found), sum(len(each.false) for each in found)
        spent_s = time.monotonic() - began_s
        line = f"{days:.1f} of {total:.1f} node-days, {spent_s:.0f} s: {outcome.family}: {len(outcome.false)} pages"
        progress.print(f"{line}; {false} in all", highlight=False)
        keep(found)
    return found


def health_rows(found: Sequence[ClusterOutcome]) -> list[Row]:
    """Rows of all tables: the target, all families, each family, kinds of pages, findings."""
    known = rows(found)
    together = rows([replace(each, family="all") for each in found])
    return [
        *({**row, "table": "target", "figure": "false pages per 1,000 nodes and week"} for row in _target(found)),
        *(row for row in known if row["table"] == "health"),
        *(row for row in together if row["table"] == "health"),
        *_kinds(found),
        *(row for row in known if row["table"] in ("false_pages", "findings")),
    ]


def _target(found: Sequence[ClusterOutcome]) -> Iterator[Row]:
    return (row for row in targets(found) if row["figure"] == _FIGURE)


def _kinds(found: Sequence[ClusterOutcome]) -> Iterator[Row]:
    weeks, pages = figures.node_weeks(found), Counter[tuple[str, str]]()
    for (_, kind, severity), events in figures.false_kinds(found).items():
        pages[kind, severity] += events
    for (kind, severity), events in sorted(pages.items(), key=lambda one: (-one[1], one[0])):
        low, high = rate_bounds(events, weeks / figures.NODES)
        yield {
            "table": "kinds",
            "incident": kind,
            "severity": severity,
            "pages": events,
            "per 1,000 nodes and week": events / weeks * figures.NODES,
            "from": low,
            "to": high,
        }


def _pods(options: HealthOptions) -> str:
    return f" in pods of {options.pod}" if options.pod else ""


def health_page(found: Sequence[Row], options: HealthOptions, of: Sequence[ClusterOutcome]) -> str:
    """docs/evaluation/results-health.md. of: the clusters that the rows are of."""
    about = (
        "Written by `python -m evaluation health`. Clusters without faults: every page is false. What a family is and "
        "how pages are counted: [families.md](families.md)."
    )
    days = sum(each.node_days for each in of)
    ran = (
        f"Seed {options.seed}, {len(of)} clusters of at least {options.hosts} hosts{_pods(options)} and {HOURS:g} "
        "simulated hour each, "
        f"together {days:.1f} node-days. Bounds (`from`, `to`) are exact, 95 %. `--node-days` runs more of the same "
        "clusters in the same order."
    )
    titles = {"target": "What a better product must reach", "kinds": _KINDS}
    for name in ("health", "false_pages", "findings"):
        titles[name] = TITLES[name]
    order = ("target", "health", "kinds", "false_pages", "findings")
    sections = [part for name in order for part in page.section(name, titles[name], found)]
    return report.page("Results: health", about, ran, *sections)
