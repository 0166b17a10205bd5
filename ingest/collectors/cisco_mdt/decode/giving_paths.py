"""Which path gives a series that several paths have, as ``dbgIfIn`` and ``dbgIfHCIn`` both have octets.

A switch does not read them at one moment, so a counter that both gave would go back and forth.
"""

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from ingest.collectors.gnmi.paths.elements import Elements

SILENT_NS = 600 * NS_PER_S
"""More than any usual sample interval: whoever brings nothing for so long is not subscribed any more."""


class GivingPaths:
    """The first one to come, for as long as it brings values."""

    def __init__(self) -> None:
        self._by_row: dict[int, Elements] = {}
        self._contested: set[int] = set()
        self._rows = 0
        self._heard, self._since_ns = np.zeros(0, np.bool_), 0

    def gives(self, row: int, path: Elements) -> bool:
        """Whether the series of this row is given by this path."""
        self._rows = max(self._rows, row + 1)
        if self._by_row.setdefault(row, path) == path:
            return True
        self._contested.add(row)
        return False

    def are_silent(self, rows: NDArray[np.uint32], now_ns: int) -> bool:
        """Whether a path that another one could stand in for has brought nothing for ``SILENT_NS``.

        rows: uint32[n], those of all samples since the last call. now_ns: the time of that.
        """
        if not self._contested:
            return False
        size = max(self._rows, int(rows.max(initial=0)) + 1)  # rows of what cannot be contested come too
        if size > self._heard.size:
            self._heard = np.concatenate((self._heard, np.zeros(size - self._heard.size, np.bool_)))
        self._since_ns = self._since_ns or now_ns
        self._heard[rows] = True
        if now_ns - self._since_ns < SILENT_NS:
            return False
        silent = not self._heard[[*self._contested]].all()
        self._heard[:], self._since_ns = False, now_ns
        return silent
