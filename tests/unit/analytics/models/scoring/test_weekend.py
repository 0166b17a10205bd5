"""A season of working days meets its first weekend: nothing alerts there, and what it teaches hides no later event."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.scoring.scorer import Scores, SeriesScorer

STEP_S, DAY = 300, 288
MONDAY_NS = 1_704_067_200 * 10**9
WEEKS, EVENTS = 4, 10


def office(seed: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load of an office from a Monday on, a third of it at the weekend, and events of its last week: 5 to 8 σ, either
    way. The noise is a share of the load.
    """
    rng, at = np.random.default_rng(seed), np.arange(7 * WEEKS * DAY)
    work = np.where(at // DAY % 7 < 5, 1.0, 0.3)
    load = 20.0 + 100.0 * work * np.clip(np.sin((at % DAY / 12 - 6.0) / 14.0 * np.pi), 0.0, None)
    sigma, noise = 0.05 * (load + 10.0), rng.normal(0.0, 1.0, at.size)
    for i in range(1, at.size):
        noise[i] = 0.5 * noise[i - 1] + np.sqrt(0.75) * noise[i]
    events = np.sort(rng.choice(np.arange(21 * DAY, at.size - 30, 30), EVENTS, replace=False))
    values = load + sigma * noise
    values[events] += sigma[events] * rng.choice([5.0, 6.0, 8.0], EVENTS) * rng.choice([-1.0, 1.0], EVENTS)
    return values, events


def scored(values: NDArray[np.float64]) -> Scores:
    return SeriesScorer().score(MONDAY_NS + np.arange(values.size) * STEP_S * 10**9, values, bands=False)


def test_the_first_weekend_alerts_not_and_hides_no_event_of_later_weeks() -> None:
    weekend, found = 0, 0
    for seed in range(12):
        values, events = office(seed)
        alert = scored(values).alert
        weekend += int(alert[5 * DAY : 7 * DAY].sum())
        found += int(alert[events[:, None] + np.arange(3)].any(axis=1).sum())
    assert weekend == 0
    assert found >= 43  # of 120
