"""Which collections are lost: bursts, by a model of two states for each target (Gilbert 1960, Elliott 1963).

E. N. Gilbert, Capacity of a burst-noise channel, Bell System Technical Journal 39 (1960); E. O. Elliott, Estimates of
error rates for codes on burst-noise channels, Bell System Technical Journal 42 (1963).
"""

import math
from enum import Enum, auto

import numpy as np

from common.units import NS_PER_S
from simulator.collection.config import Losses
from simulator.layout import Exporter
from telemetry.samples import DownReason

BAD_SHARE_MAX = 0.5
# What a collector reports when it cannot reach a target for a while. Assumption: mostly no answer in time.
_REASONS: dict[bool, dict[DownReason, float]] = {
    False: {DownReason.TIMEOUT: 0.6, DownReason.REFUSED: 0.3, DownReason.RESET: 0.1},
    True: {DownReason.CLOSED: 0.4, DownReason.SILENT: 0.3, DownReason.TIMEOUT: 0.3},
}
"""Shares, by whether the target is a stream (gNMI)."""


class Fate(Enum):
    """What becomes of a collection that has no reason to fail."""

    ARRIVES = auto()
    VANISHES = auto()


class LossState:
    """The state of one target, moved from collection to collection.

    The bad state is left at a rate of 1/burst_s and entered at the rate that makes ``bad_share`` its share of time. The
    chance of being in it after t seconds is exact: share + (was bad − share) · exp(−t (rate in + rate out)).
    All collections of one burst have the same outcome: what broke is one thing.
    """

    def __init__(self, config: Losses, exporter: Exporter, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        worse = float(rng.random()) < config.worse_share
        self.bad_share = min(BAD_SHARE_MAX, config.bad_share * (config.worse_factor if worse else 1.0))
        self._rate = 1.0 / config.burst_s / (1.0 - self.bad_share)
        self._reasons = _REASONS[exporter is Exporter.GNMI]
        self._at_ns = 0
        self._is_bad = float(rng.random()) < self.bad_share
        self._outcome = self._new_outcome()

    def fate(self, at_ns: int) -> Fate | DownReason:
        """Of the collection at ``at_ns``, which must not be before that of the last call."""
        before = self._is_bad
        stays = math.exp(-(at_ns - self._at_ns) / NS_PER_S * self._rate)
        self._at_ns = at_ns
        self._is_bad = float(self._rng.random()) < self.bad_share + (before - self.bad_share) * stays
        if self._is_bad and not before:
            self._outcome = self._new_outcome()
        lost = float(self._rng.random()) < (self._config.loss_in_bad if self._is_bad else self._config.loss_in_good)
        if not lost:
            return Fate.ARRIVES
        return self._outcome if self._is_bad else self._new_outcome()

    def _new_outcome(self) -> Fate | DownReason:
        if float(self._rng.random()) >= self._config.failed_share:
            return Fate.VANISHES
        return list(self._reasons)[int(self._rng.choice(len(self._reasons), p=list(self._reasons.values())))]
