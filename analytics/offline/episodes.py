"""Alerts that belong together: an alert after a while without one begins an episode."""

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

QUIET_ROWS = 10  # rows of a series in a row that end an episode, as none of them alerts


class Episodes:
    """Knows, of each series, how many rows ago it alerted. Memory: a number a series."""

    def __init__(self) -> None:
        self._quiet = np.empty(0, np.int64)  # rows since the newest alert of each series

    def starts(self, alert: NDArray[np.bool_], series: NDArray[np.int64]) -> NDArray[np.bool_]:
        """bool[n]: whether a row alerts and none of the ``QUIET_ROWS`` rows before it in its series does.

        alert: bool[n]. series: int64[n], from 0 on without large gaps.
        """
        new = int(series.max(initial=-1)) + 1 - self._quiet.size
        if new > 0:
            # Doubled, so that series that come one after the other do not each copy the older ones.
            self._quiet = np.append(self._quiet, np.full(max(new, self._quiet.size), QUIET_ROWS))
        start = np.zeros(alert.size, np.bool_)
        _starts(alert, series, self._quiet, start)
        return start

    def starts_one(self, alert: bool, series: int) -> bool:
        """``starts`` of one row."""
        if series >= self._quiet.size:
            return bool(self.starts(np.array([alert]), np.array([series]))[0])
        start = alert and bool(self._quiet[series] >= QUIET_ROWS)
        self._quiet[series] = 0 if alert else self._quiet[series] + 1
        return start


@compiled
def _starts(
    alert: NDArray[np.bool_], series: NDArray[np.int64], quiet: NDArray[np.int64], start: NDArray[np.bool_]
) -> None:
    for row in range(alert.size):
        if alert[row]:
            start[row] = quiet[series[row]] >= QUIET_ROWS
            quiet[series[row]] = 0
        else:
            quiet[series[row]] += 1
