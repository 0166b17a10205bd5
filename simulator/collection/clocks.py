"""Clocks of sources that put their own time on samples."""

from dataclasses import dataclass

import numpy as np

from common.units import NS_PER_S
from simulator.collection.config import Clocks


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock that is off by ``offset_ns`` at ``start_ns`` and gains ``drift`` seconds a second."""

    start_ns: int
    offset_ns: int = 0
    drift: float = 0.0

    def read(self, now_ns: int) -> int:
        """What it shows at ``now_ns``.

        >>> Clock(0, offset_ns=-5, drift=0.1).read(1000)
        1095
        """
        return now_ns + self.offset_ns + int(self.drift * (now_ns - self.start_ns))


def draw_clock(config: Clocks, start_ns: int, rng: np.random.Generator) -> Clock:
    """A right clock, or a wrong one for ``skewed_share`` of the draws."""
    skewed, offset, drift = rng.random(), rng.uniform(-1.0, 1.0), rng.uniform(-1.0, 1.0)
    if skewed >= config.skewed_share:
        return Clock(start_ns)
    return Clock(start_ns, int(offset * config.offset_s * NS_PER_S), drift * config.drift_ppm * 1e-6)
