"""The peer comparison on synthetic groups: who is found, how soon, false alarms, and members a CPU-second.

``python -m benchmarks.detection.peers`` prints a table. One sample is one collection interval; seeds are fixed.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from analytics.peers.compare import WIDTH, compare

SIZES, EFFECTS = (8, 64, 512, 8192), (0.05, 0.1, 0.2, 0.3)
NOISE, STATIC = 0.02, 0.03  # of one sample; of members among each other
LEARN, WATCH = 60, 20  # samples before the fault, and with it
_SAMPLES_A_DAY = 8640  # at ten seconds
_MEMBERS_WATCHED = 512  # of all groups of a row together
_FLOOR, _EFFECT_MIN, _ALPHA, _FOLLOW = 0.02, 0.03, 1 / 180, 180
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Healthy = Callable[[np.random.Generator, int, int], tuple[Floats, Bools]]


@dataclass(frozen=True)
class Found:
    """delays: samples from the fault to the first alarm of each faulty member that was found. alarms: of healthy ones,
    counted where one begins. watched: samples of healthy members.
    """

    faulty: int
    delays: tuple[int, ...]
    alarms: int
    watched: int


class Watch:
    """One group of members in hosts of eight."""

    def __init__(self, size: int, whole: bool = True) -> None:
        self._whole = whole
        self._state = np.zeros((size, WIDTH), np.float32)
        self._hosts = np.arange(size) // 8

    def step(self, values: Floats, present: Bools) -> Bools:
        """bool[size]: who is named after this sample."""
        rows = np.flatnonzero(present)
        score, normal = np.empty(rows.size), np.empty(rows.size)
        new, tags, logs = np.ones(rows.size, bool), np.full(rows.size, 7), np.log(values[rows])
        starts = np.array([0, rows.size])
        hosts = self._hosts[rows]
        compare(
            starts, tags, hosts, logs, new, rows, self._state,
            _FLOOR, _EFFECT_MIN, np.inf, _ALPHA, _FOLLOW, self._whole, score, normal,
        )  # fmt: skip
        named = np.zeros(present.size, bool)
        named[rows] = score >= 1.0
        return named


def steady(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """Levels of the members and who is there: [steps, size] each."""
    levels = 0.5 * np.exp(STATIC * rng.normal(size=size))
    return np.tile(levels, (steps, 1)), np.ones((steps, size), bool)


def two_modes(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """Half of the members work at two fifths of the level of the others, and from time to time at half of that."""
    levels, present = steady(rng, size, steps)
    levels[:, : size // 2] *= 0.4
    levels[:, : size // 2] *= np.where((np.arange(steps) // 15) % 2, 0.5, 1.0)[:, None]
    return levels, present


def joins(rng: np.random.Generator, size: int, steps: int) -> tuple[Floats, Bools]:
    """A quarter of the hosts comes half-way through the learning; an eighth is away for a while, at other times."""
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
    """Noise with memory and heavy tails on top of the usual one."""
    levels, present = steady(rng, size, steps)
    slow = np.zeros((steps, size))
    shocks = 0.01 * rng.standard_t(4, size=(steps, size))
    for step in range(1, steps):
        slow[step] = 0.7 * slow[step - 1] + shocks[step]
    return levels * np.exp(slow), present


SCENES: dict[str, Healthy] = {
    "steady": steady,
    "two modes": two_modes,
    "joins and leaves": joins,
    "all slow at once": together,
    "read at other moments": skewed,
    "uneven noise": uneven,
}


def trial(scene: Healthy, size: int, faulty: int, effect: float, seed: int, steps: int = LEARN + WATCH) -> Found:
    """One group; with ``faulty`` members from the sample ``LEARN`` on."""
    rng = np.random.default_rng([seed, size, faulty, round(1000 * effect)])
    levels, present = scene(rng, size, steps)
    bad = rng.choice(np.flatnonzero(present[LEARN]), faulty, replace=False) if faulty else np.zeros(0, np.int64)
    levels[LEARN:, bad] *= 1.0 + effect
    watch, first = Watch(size, whole=scene is not skewed), np.full(size, -1)
    before, alarms, watched = np.zeros(size, bool), 0, 0
    healthy = np.ones(size, bool)
    healthy[bad] = False
    for step in range(steps):
        named = watch.step(levels[step] * np.exp(NOISE * rng.normal(size=size)), present[step])
        innocent = healthy if step >= LEARN else np.ones(size, bool)
        alarms += int(np.count_nonzero(named & ~before & innocent))
        watched += int(np.count_nonzero(present[step] & innocent))
        if step >= LEARN:
            first[bad] = np.where((first[bad] < 0) & named[bad], step - LEARN + 1, first[bad])
        before = named
    delays = tuple(int(delay) for delay in first[bad] if delay > 0)
    return Found(faulty, delays, alarms, watched)


def found_rows() -> list[dict[str, Any]]:
    """Recall and delay by size, effect and how many are faulty at once."""
    rows = []
    for size in SIZES:
        for faulty in (1, max(1, size // 3)):
            for effect in EFFECTS:
                trials = _trials(size, faulty)
                found = [trial(steady, size, faulty, effect, seed) for seed in range(trials)]
                rows.append(_row(f"{size} members, {faulty} at {effect:.0%}", found))
    return rows


def scene_rows() -> list[dict[str, Any]]:
    """One straggler of 20 % in each scene."""
    rows = []
    for name, scene in SCENES.items():
        for size in (8, 64):
            found = [trial(scene, size, 1, 0.2, seed) for seed in range(_trials(size, 1))]
            rows.append(_row(f"{name}, {size} members, 1 at 20 %", found))
    return rows


def healthy_rows(steps: int = 720) -> list[dict[str, Any]]:
    """False alarms of healthy groups, a member and day."""
    rows = []
    for name, scene in SCENES.items():
        for size in (16, 512):
            found = [trial(scene, size, 0, 0.0, seed, steps) for seed in range(max(1, _MEMBERS_WATCHED // size))]
            rows.append(_row(f"{name}, {size} members, healthy", found))
    return rows


def members_per_cpu_second(size: int = 8192, steps: int = 30) -> float:
    rng = np.random.default_rng(1)
    levels, present = steady(rng, size, steps)
    watch = Watch(size)
    watch.step(levels[0], present[0])
    began = time.process_time()
    for step in range(1, steps):
        watch.step(levels[step], present[step])
    return size * (steps - 1) / (time.process_time() - began)


def _trials(size: int, faulty: int) -> int:
    return 2 if size > 500 else max(3, 16 // faulty)


def _row(name: str, found: list[Found]) -> dict[str, Any]:
    delays = [delay for one in found for delay in one.delays]
    faulty, days = sum(one.faulty for one in found), sum(one.watched for one in found) / _SAMPLES_A_DAY
    return {
        "name": name,
        "recall": round(len(delays) / faulty, 3) if faulty else None,
        "delay": float(np.median(delays)) if delays else None,
        "delay_95": float(np.percentile(delays, 95)) if delays else None,
        "alarms": sum(one.alarms for one in found),
        "alarms_per_member_day": round(sum(one.alarms for one in found) / days, 6),
    }


def main() -> None:
    drawn = Table(title="Peers (delays in samples)")
    for heading in ("case", "recall", "median delay", "95 %", "false alarms", "a member and day"):
        drawn.add_column(heading, justify="left" if heading == "case" else "right")
    for row in (*found_rows(), *scene_rows(), *healthy_rows()):
        drawn.add_row(row["name"], *("" if value is None else f"{value:g}" for value in list(row.values())[1:]))
    console = Console(width=120)
    console.print(drawn)
    console.print(f"{members_per_cpu_second():,.0f} members a CPU-second")


if __name__ == "__main__":
    main()
