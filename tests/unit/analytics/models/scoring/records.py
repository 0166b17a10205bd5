"""Empty records of the scoring state, whose fields can be read and written in tests as compiled code does."""

from typing import Any

import numpy as np

from analytics.models.scoring import tails as tail
from analytics.models.scoring.layout import CORE, EXPERTS, MOMENT, SEASON, TAILS, UNKNOWN, WEEK_FROM


def _zeros(layout: np.dtype[Any]) -> Any:
    return np.zeros(1, layout).view(np.recarray)[0]


def core() -> Any:
    return _zeros(CORE)


def moment() -> Any:
    return _zeros(MOMENT)


def season() -> Any:
    """Nothing known of the day."""
    empty = _zeros(SEASON)
    empty.bins[:WEEK_FROM] = UNKNOWN
    return empty


def tails() -> Any:
    """As for a new series."""
    empty = _zeros(TAILS)
    for expert in range(EXPERTS):
        tail.begin(empty, expert)
    return empty
