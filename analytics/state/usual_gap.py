"""The usual gap between two events that come in a rhythm: the median of the newest three gaps.

One gap that is too long (a lost collection, a restart) or too short changes nothing, and a new rhythm counts after its
second gap. Three numbers are all that is kept.
"""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

KEPT = 3


@compiled
def note(gaps_s: NDArray[np.float32], gap_s: float) -> None:
    """Adds the newest gap to the row of one object. gaps_s: float32[3], oldest first, 0 where there was none yet."""
    gaps_s[0], gaps_s[1], gaps_s[2] = gaps_s[1], gaps_s[2], gap_s


@compiled
def median_of(gaps_s: NDArray[np.float32]) -> float:
    """Of one row: the median; of two gaps the shorter one, as losses only make gaps longer; 0 before the first."""
    a, b, c = gaps_s[0], gaps_s[1], gaps_s[2]
    if b == 0.0:
        return float(c)
    if a == 0.0:
        return float(min(b, c))
    return float(max(min(a, b), min(max(a, b), c)))


@compiled
def medians(gaps_s: NDArray[np.float32], out: NDArray[np.float64]) -> None:
    """``median_of`` each row. gaps_s: float32[n, 3]. out: float64[n]."""
    for row in range(out.size):
        out[row] = median_of(gaps_s[row])


@compiled
def is_even(gaps_s: NDArray[np.float32], slack_s: float) -> bool:
    """Whether three gaps are known and all of them are the same, but for ``slack_s`` or a quarter."""
    if gaps_s[0] == 0.0:
        return False
    usual = median_of(gaps_s)
    return bool(np.max(np.abs(gaps_s - usual)) <= max(slack_s, 0.25 * usual))


@compiled
def fill(
    gaps_s: NDArray[np.float32],
    others_s: NDArray[np.float64],
    of: NDArray[np.int32],
    least_s: float,
    most_s: float,
    out: NDArray[np.float64],
) -> None:
    """``median_of`` each row within limits; where it has none that of the other that it belongs to.

    others_s: float64[m]. of: int32[n], positions there. out: float64[n].
    """
    for row in range(out.size):
        gap_s = median_of(gaps_s[row])
        out[row] = others_s[of[row]] if gap_s == 0.0 else min(max(gap_s, least_s), most_s)
