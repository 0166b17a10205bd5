"""Random processes with memory, and delays with heavy tails."""

import math

import numpy as np

from simulator.fabric.state import Floats


class SlowNoise:
    """``n`` independent Ornstein–Uhlenbeck processes of mean 0 and variance 1, stationary from the start.

    tau_s: time in which the correlation falls to 1/e. tail: degrees of freedom of the innovations' Student t
    distribution (scaled to the variance of a normal one, > 2); 0: normal.
    Exact discretisation: x' = a x + sqrt(1 - a²) z with a = exp(-dt / tau) (Gillespie 1996, Phys. Rev. E 54, 2084).
    """

    def __init__(self, rng: np.random.Generator, n: int, tau_s: float, tail: float = 0.0) -> None:
        self._rng, self._tau_s, self._tail = rng, tau_s, tail
        self.values: Floats = rng.normal(0.0, 1.0, n)

    def advance(self, dt: float) -> Floats:
        """The values ``dt`` seconds later, [n]."""
        keep = math.exp(-dt / self._tau_s)
        n = len(self.values)
        if self._tail:
            drawn = self._rng.standard_t(self._tail, n) / math.sqrt(self._tail / (self._tail - 2.0))
        else:
            drawn = self._rng.normal(0.0, 1.0, n)
        self.values = keep * self.values + math.sqrt(1.0 - keep * keep) * drawn
        return self.values


def log_normal_of_mean(normal: Floats, sigma: float) -> Floats:
    """Log-normal values of mean 1 from standard normal ones: exp(sigma z - sigma²/2)."""
    return np.exp(sigma * normal - 0.5 * sigma * sigma)
