"""The peer comparison on synthetic groups: which outliers it finds, how soon, and its false positives.

``python -m evaluation.models.peers`` prints a table; ``--tune`` uses other seeds. One sample is one collection
interval. Healthy GPUs of one job have constant levels 1 to 3 % apart, and 1 % noise from sample to sample.
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from analytics.models.peers.compare import Learning, PeerGroups, PeerValues, compare
from analytics.models.peers.member import WIDTH
from analytics.models.peers.rules import HIGH, SLOWING, SUPPORTING, Rule, limits_of
from evaluation.series.signals import Floats

SIZES, EFFECTS = (8, 64, 1024, 8192), (0.03, 0.05, 0.1, 0.2)
NOISE, STATIC = 0.01, (0.01, 0.02, 0.03)  # of one sample; between the levels of members, by group
LEARN, OBSERVE = 60, 20  # samples before the fault, and with it
SOON = 3  # samples within which it should be found
REPORT, TUNE = 0, 1000  # first seeds
_FAULTY = 192  # faulty members of all groups of a row together
_SPARSE = 512  # members of which one is faulty
_HEALTHY = 2_000_000  # samples of all groups of a row together
_ALPHA, _FOLLOW = 1 / 180, 180
_RULES = {rule.metric: rule for rule in (*SLOWING, *SUPPORTING)}
CLOCK = _RULES["gpu_sm_clock_hertz"]
Bools = NDArray[np.bool_]
Healthy = Callable[[np.random.Generator, int, int], tuple[Floats, Bools]]


@dataclass(frozen=True)
class TrialResult:
    """delays: samples from the fault until each faulty member that was found is flagged. false: how often a healthy
    member began to be flagged. healthy_samples: samples of healthy members.
    """

    faulty: int
    delays: tuple[int, ...]
    false: int
    healthy_samples: int


@dataclass
class PeerGroup:
    """One group of members in hosts of eight; higher values are worse."""

    size: int
    rule: Rule = CLOCK
    state: NDArray[np.float32] = field(init=False)

    def __post_init__(self) -> None:
        self.state = np.zeros((self.size, WIDTH), np.float32)
        self._hosts = np.arange(self.size) // 8
        self._limits = limits_of([replace(self.rule, busy=-math.inf, least=None, worse=HIGH)])

    def step(self, values: Floats, present: Bools) -> Bools:
        """bool[size]: which members are flagged after this sample."""
        rows = np.flatnonzero(present)
        score, normal = np.empty(rows.size), np.empty(rows.size)
        new, reported = np.ones(rows.size, bool), np.zeros(rows.size, bool)
        tags, logs = np.full(rows.size, 7), np.log(values[rows])
        starts, rules = np.array([0, rows.size]), np.zeros(rows.size, np.int64)
        groups = PeerGroups(starts, rules, self._limits, tags, self._hosts[rows])
        given = PeerValues(logs, new, rows, reported)
        compare(groups, given, self.state, Learning(_ALPHA, _FOLLOW), score, normal)
        flagged = np.zeros(present.size, bool)
        flagged[rows] = score >= 1.0
        return flagged


def steady(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """Levels of the members, and which are present: [steps, size] each."""
    levels = 0.5 * np.exp(rng.choice(STATIC) * rng.normal(size=size))
    return np.tile(levels, (steps, 1)), np.ones((steps, size), bool)


def two_modes(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """Half of the members are at 40 % of the level of the others, and from time to time at 20 %."""
    levels, present = steady(rng, size, steps)
    levels[:, : size // 2] *= 0.4
    levels[:, : size // 2] *= np.where((np.arange(steps) // 15) % 2, 0.5, 1.0)[:, None]
    return levels, present


def joins(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """A quarter of the hosts joins half-way through the learning; an eighth is away for a while, at various times."""
    levels, present = steady(rng, size, steps)
    hosts, at = np.arange(size) // 4, np.arange(steps)[:, None]
    present[(at < LEARN // 2) & (hosts % 4 == 1)] = False
    away_from = rng.integers(0, steps, size // 4 + 1)[hosts]
    present[(hosts % 8 == 2) & (at >= away_from) & (at < away_from + 10)] = False
    return levels, present


def together(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """The whole group slows, pauses and recovers."""
    levels, present = steady(rng, size, steps)
    shape = np.where(np.arange(steps) % 24 < 3, 0.1, 1.0) * np.where((np.arange(steps) // 40) % 2, 0.7, 1.0)
    return levels * shape[:, None], present


def skewed(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """Like ``together``, but a third of the hosts is read a sample later; compared within the hosts."""
    levels, present = together(rng, size, steps)
    late = (np.arange(size) // 8) % 3 == 0
    levels[1:, late] = levels[:-1, late].copy()
    return levels, present


def uneven(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """Autoregressive noise with heavy tails in addition to the usual one."""
    levels, present = steady(rng, size, steps)
    drift = np.zeros((steps, size))
    shocks = 0.005 * rng.standard_t(4, size=(steps, size))
    for step in range(1, steps):
        drift[step] = 0.7 * drift[step - 1] + shocks[step]
    return levels * np.exp(drift), present


SCENES: dict[str, Healthy] = {
    "steady": steady,
    "two modes": two_modes,
    "joins and leaves": joins,
    "all slow at once": together,
    "read at other moments": skewed,
    "uneven noise": uneven,
}
_MOMENT = _RULES["gpu_tensor_active_ratio"]  # depends on when a host is read


def trial(
    scene: Healthy, size: int, faulty: int, effect: float, seed: int, steps: int = LEARN + OBSERVE, rule: Rule = CLOCK
) -> TrialResult:
    """One group; ``faulty`` members deviate by ``effect`` from sample ``LEARN`` on."""
    rng = np.random.default_rng([seed, size, faulty, round(1000 * effect)])
    levels, present = scene(rng, size, steps)
    bad = rng.choice(np.flatnonzero(present[LEARN]), faulty, replace=False) if faulty else np.zeros(0, np.int64)
    levels[LEARN:, bad] *= 1.0 + effect
    group, first = PeerGroup(size, rule if scene is not skewed else _MOMENT), np.full(size, -1)
    before, false, healthy_samples = np.zeros(size, bool), 0, 0
    healthy = np.ones(size, bool)
    healthy[bad] = False
    for step in range(steps):
        flagged = group.step(levels[step] * np.exp(NOISE * rng.normal(size=size)), present[step])
        healthy_now = healthy if step >= LEARN else np.ones(size, bool)
        false += int(np.count_nonzero(flagged & ~before & healthy_now))
        healthy_samples += int(np.count_nonzero(present[step] & healthy_now))
        if step >= LEARN:
            first[bad] = np.where((first[bad] < 0) & flagged[bad], step - LEARN + 1, first[bad])
        before = flagged
    delays = tuple(int(delay) for delay in first[bad] if delay > 0)
    return TrialResult(faulty, delays, false, healthy_samples)


def found_rows(seed: int) -> list[dict[str, Any]]:
    """By size and effect; one in ``_SPARSE`` members is faulty, or a third of the group."""
    rows = []
    for size in SIZES:
        for faulty in (max(1, size // _SPARSE), size // 3):
            for effect in EFFECTS:
                seeds = range(seed, seed + max(2, _FAULTY // faulty))
                found = [trial(steady, size, faulty, effect, each) for each in seeds]
                rows.append(_row(f"{size} members, {faulty} at {effect:.0%}", found))
    return rows


def scene_rows(seed: int) -> list[dict[str, Any]]:
    """One straggler in each scene."""
    rows = []
    for name, scene in SCENES.items():
        for effect in EFFECTS:
            found = [trial(scene, 64, 1, effect, each) for each in range(seed, seed + _FAULTY)]
            rows.append(_row(f"{name}, 64 members, 1 at {effect:.0%}", found))
    return rows


def metric_rows(seed: int) -> list[dict[str, Any]]:
    """One straggler by each metric of a job."""
    rows = []
    for metric in ("gpu_memory_clock_hertz", "gpu_tensor_active_ratio", "gpu_power_watts"):
        for effect in EFFECTS:
            found = [trial(steady, 64, 1, effect, each, rule=_RULES[metric]) for each in range(seed, seed + _FAULTY)]
            rows.append(_row(f"{metric}, 64 members, 1 at {effect:.0%}", found))
    return rows


def healthy_rows(seed: int, steps: int = 720) -> list[dict[str, Any]]:
    """False positives in healthy groups."""
    rows = []
    for name, scene in SCENES.items():
        for size in SIZES:
            seeds = range(seed, seed + max(1, _HEALTHY // (size * steps)))
            found = [trial(scene, size, 0, 0.0, each, steps) for each in seeds]
            rows.append(_row(f"{name}, {size} members, healthy", found))
    return rows


def _row(name: str, found: list[TrialResult]) -> dict[str, Any]:
    delays = [delay for one in found for delay in one.delays]
    faulty, millions = sum(one.faulty for one in found), sum(one.healthy_samples for one in found) / 1e6
    return {
        "name": name,
        "soon": sum(delay <= SOON for delay in delays) / faulty if faulty else None,
        "recall": len(delays) / faulty if faulty else None,
        "delay": float(np.median(delays)) if delays else None,
        "false": sum(one.false for one in found),
        "false_per_million": sum(one.false for one in found) / millions,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tune", action="store_true", help="the tuning seeds")
    seed = TUNE if parser.parse_args().tune else REPORT
    drawn = Table(title="Peers (delays in samples)")
    for heading in ("case", f"found in {SOON}", f"in {OBSERVE}", "median delay", "false", "per million samples"):
        drawn.add_column(heading, justify="left" if heading == "case" else "right")
    for row in (*found_rows(seed), *scene_rows(seed), *metric_rows(seed), *healthy_rows(seed)):
        drawn.add_row(row["name"], *("" if value is None else f"{value:.3g}" for value in list(row.values())[1:]))
    Console(width=120).print(drawn)


if __name__ == "__main__":
    main()
