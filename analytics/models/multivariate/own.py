"""Each device's own normal for every input, in one compiled pass: how far it is from it, smoothed."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

WARMUP = 30  # vectors of a device before it is judged: five minutes at the default interval
_SIGMA_PER_SPREAD = 1.2533  # standard deviations in a mean absolute deviation, for normal noise
_CLIP = 3.0  # spreads that one value may move the level by (Huber's psi)
_FAR = 10.0  # standard deviations beyond which it does not matter how far
_SMOOTHING = 0.25  # weight of the newest vector: a fault stays, noise does not


class OwnLevels(NamedTuple):
    """float64[n, F] each: level, mean absolute deviation from it, how many values were learned, smoothed distance."""

    level: NDArray[np.float64]
    spread: NDArray[np.float64]
    learned: NDArray[np.float64]
    smooth: NDArray[np.float64]


@compiled
def relate(
    rows: NDArray[np.int64],
    inputs: NDArray[np.float64],
    floors: NDArray[np.float64],
    alpha: float,
    state: OwnLevels,
    vectors: NDArray[np.float64],
) -> None:
    """Fills ``vectors`` with each input's distance from the device's own level, then learns the input.

    rows: int64[k], rows of the state; inputs: float64[k, F], NaN where unknown: passed over, neutral in the vector.
    floors: float64[F], smallest standard deviation believed. alpha: weight of a new value in the level.
    vectors: float64[k, F] out, in standard deviations.
    """
    level, spread, count, smooth = state
    for i in range(rows.size):
        row = rows[i]
        for f in range(floors.size):
            x = inputs[i, f]
            if np.isnan(x):
                smooth[row, f] -= _SMOOTHING * smooth[row, f]
                vectors[i, f] = smooth[row, f]
                continue
            seen = count[row, f]
            if seen == 0.0:
                level[row, f] = x
            error = x - level[row, f]
            sigma = max(_SIGMA_PER_SPREAD * spread[row, f], floors[f])
            if seen >= WARMUP:
                distance = min(max(error / sigma, -_FAR), _FAR)
                smooth[row, f] += _SMOOTHING * (distance - smooth[row, f])
                clip = _CLIP * sigma
                error = min(max(error, -clip), clip)
            weight = max(alpha, 1.0 / (seen + 1.0))
            level[row, f] += weight * error
            spread[row, f] += weight * (abs(error) - spread[row, f])
            count[row, f] = min(seen + 1.0, 1e9)
            vectors[i, f] = smooth[row, f]
