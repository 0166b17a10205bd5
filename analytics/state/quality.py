"""Which telemetry may be believed: a detector abstains on what is not fresh, and nothing is ever 0 by absence.

The rules. A target is *silent* when no collection succeeded for 2.5 intervals, or two in a row failed; time in which no
target at all was heard does not count, because it is the collectors that were away then. It is *frozen*
when it repeats itself bit by bit although series that used to change every time should have. A series is *stale* when
2.5 intervals brought no value, and *reset* when its counter has just started again. *Unsupported* series and zeros by a
fault are told apart in ``implausible.py``. What is known of targets is in ``target_state.py``.
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
# Where much of a target is in these states, the rest of it deserves less confidence.
DOUBTFUL = (int(Quality.STALE), int(Quality.FROZEN), int(Quality.ZERO))


def series_quality(
    valued_ns: NDArray[np.int64],
    status: NDArray[np.uint8],
    frozen: NDArray[np.bool_],
    now_ns: int,
    interval_ns: int,
) -> NDArray[np.uint8]:
    """Quality of each series: valued_ns when its newest value was collected, frozen whether its target is."""
    stale = valued_ns < now_ns - round(STALE_INTERVALS * interval_ns)
    quality = np.where(status == RESET, int(Quality.RESET), int(Quality.FRESH))
    quality = np.where(stale, int(Quality.STALE), quality)
    return np.asarray(np.where(frozen, int(Quality.FROZEN), quality), np.uint8)
