"""Empty records of the scoring state, whose fields can be read and written in tests as compiled code does."""

from typing import Any

import numpy as np

from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import (
    CORE,
    EXPERTS,
    MOMENT,
    SEARCHING,
    TAILS,
    TRIAL_UNKNOWN,
    UNKNOWN,
    USED,
    WEEK,
    Season,
)


def _zeros(layout: np.dtype[Any]) -> Any:
    return np.zeros(1, layout).view(np.recarray)[0]


def core() -> Any:
    return _zeros(CORE)


def moment() -> Any:
    return _zeros(MOMENT)


def core_and_season(proved: float = 0.0) -> tuple[Any, Any]:
    """Nothing known of the day, which is used or on trial."""
    cores, seasons = np.zeros(1, CORE), np.zeros(1, SEARCHING)
    views = seasons.view(USED), seasons, cores.view(WEEK)
    core, season = cores.view(np.recarray)[0], Season(*(view.view(np.recarray)[0] for view in views))
    core.season_proved = proved
    if proved:
        season.used.day[:] = UNKNOWN
    else:
        season.searching.trial[:] = TRIAL_UNKNOWN
    return core, season


def season() -> Any:
    """Nothing known of the day, which is on trial."""
    return core_and_season()[1]


def tails() -> Any:
    """As for a new series."""
    empty = _zeros(TAILS)
    for expert in range(EXPERTS):
        tail.begin(empty, expert)
    return empty
