"""Plans of a family: a cluster, its faults and their places, from a seed."""

from dataclasses import dataclass

import numpy as np

from common.errors import ConfigError
from evaluation.campaigns.plan import INTERVAL_S, STEP_MS
from evaluation.families import parts
from evaluation.families.family import Family, FaultChoice
from evaluation.families.places import candidates
from simulator.config import JobMix, SimulatorConfig
from simulator.faults import FAULTS
from simulator.faults.schedule import ScheduledFault
from simulator.layout import Layout
from simulator.wiring import build_layout

WARM_UP_S = (240.0, 360.0)
RECOVERS_S = (200.0, 300.0)  # after a fault: incidents fire up to six intervals late, and are over six after the repair
APART_S = 40.0  # faults that overlap begin within this time
HOURS_MAX = 1.0  # of one cluster with faults; a healthy one lasts as long as is asked for
HEALTHY_TIMES = 4.0  # as long as a family with faults: rare pages need time to show


@dataclass(frozen=True, slots=True)
class FamilyPlan:
    """One cluster of a family. faults: all with their targets, except where only the running jobs can say."""

    family: Family
    seed: int
    config: SimulatorConfig
    faults: tuple[ScheduledFault, ...]
    lasts_s: float


def plans(family: Family, seed: int, hours: float) -> list[FamilyPlan]:
    """Clusters of a family, together of ``hours``, or ``HEALTHY_TIMES`` that. A function of family and seed.

    ConfigError for a family whose cluster has no place for one of its faults.
    """
    if family.faults is None:
        return [healthy_plan(family, seed, 0, HEALTHY_TIMES * hours)]
    clusters = max(1, round(hours / HOURS_MAX))
    try:
        return [_plan(family, seed, number, hours / clusters) for number in range(clusters)]
    except ConfigError as error:
        raise ConfigError(f"family {family.name}: {error}") from error


def healthy_plan(family: Family, seed: int, number: int, hours: float) -> FamilyPlan:
    """Cluster ``number`` of a family without faults. A function of its arguments."""
    assert family.faults is None
    return _plan(family, seed, number, hours)


def _plan(family: Family, seed: int, number: int, hours: float) -> FamilyPlan:
    rng = np.random.default_rng([seed, number, *family.name.encode()])
    config = parts.cluster_config(
        family, _jobs(rng, len(family.work)), seed=int(rng.integers(2**31)), interval_s=INTERVAL_S, step_ms=STEP_MS
    )
    lasts_s = hours * 3600.0
    faults = () if family.faults is None else _faults(family.faults, config, rng, lasts_s)
    return FamilyPlan(family, seed * 1000 + number, config, faults, lasts_s)


def _jobs(rng: np.random.Generator, kinds: int) -> JobMix:
    """As in the older campaigns, with jobs that may last longer (assumption), and one of each kind of work at least."""
    return JobMix(
        jobs=max(kinds, int(rng.integers(1, 4))),
        compute_s=float(rng.uniform(0.8, 2.0)),
        checkpoint_period_s=float(rng.uniform(120.0, 400.0)),
        lifetime_s=float(rng.uniform(600.0, 3600.0)),
    )


def _faults(
    choice: FaultChoice, config: SimulatorConfig, rng: np.random.Generator, until_s: float
) -> tuple[ScheduledFault, ...]:
    """Groups of overlapping faults, each with time to boot and to recover; a group that would not be over in time is
    left out."""
    layout = build_layout(config)
    at_s, found, queue = float(rng.uniform(*WARM_UP_S)), list[ScheduledFault](), list[str]()
    while True:
        while len(queue) < choice.together:
            queue += [str(kind) for kind in rng.permutation(choice.kinds)]
        kinds, queue = queue[: choice.together], queue[choice.together :]
        group = _group(choice, kinds, layout, rng, at_s)
        over_s = max(fault.at_s + (fault.lasts_s or FAULTS[fault.fault].lasts_s) for fault in group) + config.boot_s[1]
        if over_s + RECOVERS_S[0] > until_s:
            return tuple(found)
        found += group
        at_s = over_s + float(rng.uniform(*RECOVERS_S))


def _group(
    choice: FaultChoice, kinds: list[str], layout: Layout, rng: np.random.Generator, at_s: float
) -> list[ScheduledFault]:
    group: list[ScheduledFault] = []
    for position, kind in enumerate(kinds):
        group.append(
            ScheduledFault(
                fault=kind,
                at_s=at_s + (float(rng.uniform(0.0, APART_S)) if position else 0.0),
                lasts_s=FAULTS[kind].lasts_s or float(rng.uniform(*choice.lasts_s)),
                target=_target(layout, kind, choice, rng, {fault.target for fault in group}),
                strength=parts.strength(kind, float(rng.uniform(*choice.strength))),
                **parts.how(choice, float(rng.uniform(*choice.on_s)), float(rng.uniform(*choice.off_s))),
            )
        )
    return group


def _target(layout: Layout, kind: str, choice: FaultChoice, rng: np.random.Generator, taken: set[str]) -> str:
    """A place that no other fault of the group has; the same one when the cluster has no other."""
    among = candidates(layout, kind, choice.place)
    free = [target for target in among if target not in taken] or among
    return free[int(rng.integers(len(free)))]
