"""Data quality: detectors abstain on values that are not fresh, and a missing value is never 0.

The rules. A target is *silent* when nothing came of it for longer than its own cadence and losses explain; time
without a collection of any target does not count, because then the collectors were down. It is *frozen* when it repeats
itself bit by bit although it has series that always change. A series is *stale* when 2.5 of its usual gaps brought no
value, and *reset* when its counter has just started again. *Unsupported* series and zeros by a fault: see
``implausible.py``. The state of targets is in ``target_state.py``, their cadence in ``target_cadence.py``.
"""

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from analytics.state.rates import NEVER, RESET
from common.jit import compiled

STALE_GAPS = 2.5


class Quality(IntEnum):
    """Of the newest value of one series."""

    FRESH = 0
    STALE = 1
    FROZEN = 2
    RESET = 3
    UNSUPPORTED = 4  # see ``implausible.py``
    ZERO = 5  # by a fault


FRESH = int(Quality.FRESH)
_STALE, _FROZEN, _RESET = int(Quality.STALE), int(Quality.FROZEN), int(Quality.RESET)
# Where many series of a target are in these states, findings about the others have less confidence.
IS_UNUSABLE = np.isin(list(Quality), (Quality.STALE, Quality.FROZEN, Quality.ZERO))  # by quality


def series_quality(
    valued_ns: NDArray[np.int64],
    status: NDArray[np.uint8],
    targets: NDArray[np.int32],
    frozen: NDArray[np.bool_],
    now_ns: int,
    cadence_s: NDArray[np.float64],
) -> NDArray[np.uint8]:
    """uint8[series]: valued_ns is when the newest value was collected, frozen whether each of the targets is.

    cadence_s: float64[series], seconds from value to value.
    """
    quality = np.empty(valued_ns.size, np.uint8)
    _judge(valued_ns, status, targets, frozen, now_ns, STALE_GAPS * 1e9 * cadence_s, quality)
    return quality


@compiled
def _judge(
    valued_ns: NDArray[np.int64],
    status: NDArray[np.uint8],
    targets: NDArray[np.int32],
    frozen: NDArray[np.bool_],
    now_ns: int,
    stale_ns: NDArray[np.float64],
    quality: NDArray[np.uint8],
) -> None:
    for s in range(valued_ns.size):
        if frozen[targets[s]]:
            quality[s] = _FROZEN
        elif valued_ns[s] == NEVER or now_ns - valued_ns[s] > stale_ns[s]:
            quality[s] = _STALE
        else:
            quality[s] = _RESET if status[s] == RESET else FRESH


def counts(quality: NDArray[np.uint8]) -> dict[str, int]:
    """How many series are in each state, by its name."""
    found = np.bincount(quality, minlength=len(Quality)).tolist()
    return {state.name.lower(): found[state] for state in Quality}
