"""Data quality: detectors abstain on values that are not fresh, and a missing value is never 0.

The rules. A target is *silent* when no collection succeeded for 2.5 intervals, or two in a row failed; time without a
collection of any target does not count, because then the collectors were down. It is *frozen* when it repeats itself
bit by bit although it has series that always change. A series is *stale* when 2.5 intervals brought no value, and
*reset* when its counter has just started again. *Unsupported* series and zeros by a fault: see ``implausible.py``. The
state of targets is in ``target_state.py``.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from analytics.state.rates import RESET

STALE_INTERVALS = 2.5


class Quality(IntEnum):
    """Of the newest value of one series."""

    FRESH = 0
    STALE = 1
    FROZEN = 2
    RESET = 3
    UNSUPPORTED = 4  # see ``implausible.py``
    ZERO = 5  # by a fault


FRESH = int(Quality.FRESH)
# Where many series of a target are in these states, findings about the others have less confidence.
UNUSABLE = (int(Quality.STALE), int(Quality.FROZEN), int(Quality.ZERO))


def series_quality(
    valued_ns: NDArray[np.int64],
    status: NDArray[np.uint8],
    frozen: NDArray[np.bool_],
    now_ns: int,
    interval_ns: int,
) -> NDArray[np.uint8]:
    """uint8[series]: valued_ns is when the newest value was collected, frozen whether the series' target is."""
    stale = valued_ns < now_ns - round(STALE_INTERVALS * interval_ns)
    quality = np.where(status == RESET, int(Quality.RESET), int(Quality.FRESH))
    quality = np.where(stale, int(Quality.STALE), quality)
    return np.asarray(np.where(frozen, int(Quality.FROZEN), quality), np.uint8)
