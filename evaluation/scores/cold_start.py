"""Cold start: what a new series gains by the calibration of older series of its kind.

``python -m evaluation.scores.cold_start``. Eight types of noise. 40 old series of 1,000 values; then 200 new ones of
300 values, half of them with an event of five values, 4 to 10 standard deviations high (of a normal distribution with
the same 95th percentile).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

from analytics.models.scoring.scorer import SeriesScorer
from common.units import NS_PER_S
from evaluation.series.signals import Floats

SEEDS = (101, 102, 103)
_OLD, _NEW, _OLD_VALUES, _NEW_VALUES = 40, 200, 1000, 300
_STEP_NS, _START_NS = 10 * NS_PER_S, 1_700_000_000 * NS_PER_S
_EVENT, _AFTERMATH = 5, 30  # values: length of an event, and how long alerts may follow from it
Noise = Callable[[np.random.Generator, int, int], Floats]


def _autoregressive(rng: np.random.Generator, rounds: int, series: int) -> Floats:
    values = rng.normal(size=(rounds, series))
    for number in range(1, rounds):
        values[number] += 0.9 * values[number - 1]
    return values


def _bursts(rng: np.random.Generator, rounds: int, series: int) -> Floats:
    burst = rng.random((rounds, series)) < 0.03
    return np.where(burst, rng.lognormal(3, 1, (rounds, series)), rng.normal(size=(rounds, series)))


NOISES: dict[str, Noise] = {
    "normal": lambda rng, *shape: rng.normal(size=shape),
    "uniform": lambda rng, *shape: rng.uniform(-1.7, 1.7, shape),
    "autoregressive, 0.9": _autoregressive,
    "counts, Poisson of 2": lambda rng, *shape: rng.poisson(2, shape).astype(np.float64),
    "Student's t of 3": lambda rng, *shape: rng.standard_t(3, shape),
    "log-normal of σ 1": lambda rng, *shape: rng.lognormal(0, 1, shape),
    "Pareto of 2.5": lambda rng, *shape: rng.pareto(2.5, shape),
    "bursts, 3 % of values": _bursts,
}


@dataclass(frozen=True, slots=True)
class Found:
    """recall: share of events with an alert. false_per_1000: alerts per thousand values away from events."""

    recall: float
    false_per_1000: float


def measure(noise: Noise, seed: int, with_kind: bool) -> Found:
    """with_kind: all series are of one kind, so that the old ones calibrate the new ones."""
    rng = np.random.default_rng(seed)
    old, new = noise(rng, _OLD_VALUES, _OLD), noise(rng, _NEW_VALUES, _NEW)
    sigma = np.percentile(np.abs(new - np.median(new)), 95) / 1.96
    since = np.arange(_NEW_VALUES)[:, None] - rng.integers(40, _NEW_VALUES - _EVENT, _NEW)
    has_event = np.arange(_NEW) % 2 == 0
    inside = has_event & (since >= 0) & (since < _EVENT)
    height = sigma * rng.uniform(4, 10, _NEW) * rng.choice([-1, 1], _NEW)
    detector = SeriesScorer()
    for first, rows, sids in (
        (0, old, np.arange(_OLD)),
        (_OLD_VALUES, new + inside * height, _OLD + np.arange(_NEW)),
    ):
        times_ns = _START_NS + (first + np.arange(len(rows), dtype=np.int64)) * _STEP_NS
        series = np.tile(sids, len(rows))
        kinds = np.zeros(series.size, np.int64) if with_kind else None
        found = detector.score(np.repeat(times_ns, sids.size), (100 + 10 * rows).ravel(), series, kinds, bands=False)
    alerts = found.alert.reshape(new.shape)
    away = ~(has_event & (since >= 0) & (since < _AFTERMATH))
    return Found((alerts & inside).any(axis=0)[has_event].mean(), 1000 * alerts[away].mean())


def rows() -> Iterator[tuple[str, Found, Found]]:
    """Type of noise; alone, and with its kind; means of all seeds."""
    for name, noise in NOISES.items():
        alone, calibrated = (_mean([measure(noise, seed, with_kind) for seed in SEEDS]) for with_kind in (False, True))
        yield name, alone, calibrated


def _mean(found: list[Found]) -> Found:
    return Found(float(np.mean([f.recall for f in found])), float(np.mean([f.false_per_1000 for f in found])))


def main() -> None:
    table = Table(title="Series of 30 to 300 values: events found, and false alerts in 1,000 values")
    for heading in ("noise", "alone: found", "false", "with its kind: found", "false"):
        table.add_column(heading)
    for name, *found in rows():
        table.add_row(name, *(text for f in found for text in (f"{f.recall:.2f}", f"{f.false_per_1000:.2f}")))
    Console().print(table)


if __name__ == "__main__":
    main()
