"""Whether work that goes in rounds falls below its usual level; short pauses that it always makes do not count.

Values are means over bins of time. The normal level is the median of the bins learned; a slump is a stretch in which
most bins are well below it, or a longer one in which most are a little below. How long a pause may last is learned from
the pauses that ended by themselves.
"""

import math
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

LOW_SHARE = 0.8  # of the normal level: training steps of one job vary by a few per cent from minute to minute
FINE_BINS = 2  # in a row that are not even a little low end a slump
LEARNED_MIN = 6  # bins before there is a normal level
_SCALES = 4.0 * 1.4826  # robust standard deviations, for uneven work
# A little low: for a minute, by more than the scale of single bins, and after two minutes of normal work.
_LITTLE_SHARE, _LITTLE_SCALES, _LITTLE_BINS, _LITTLE_LEARNED_MIN = 0.92, 3.0 * 1.4826, 6, 12
_LEARNED_MAX = 90
_RECENT_MAX = 27
_LEVEL_MIN = 0.02  # a level below that is no work


@dataclass(frozen=True, slots=True)
class WorkLevel:
    """One statistic of one job; ``updated`` returns the next one.

    low_bins_min: low bins that make a slump before any pause was seen. warmup: bins learned before there may be one.

    learned: bins of normal work. recent: the newest bins. pause: longest run of low bins that ended by itself.
    low: low bins at the end of ``recent``, in a row. slump: bins since the slump began, 0 without one.
    """

    low_bins_min: int
    warmup: int = LEARNED_MIN
    learned: tuple[float, ...] = ()
    recent: tuple[float, ...] = ()
    pause: int = 0
    low: int = 0
    slump: int = 0

    def updated(self, value: float, follow: int) -> "WorkLevel":
        """With one more bin, NaN for an unknown one. A slump of more than ``follow`` bins is the new normal."""
        low_below, little_below = self._limits()
        recent = (*self.recent[1 - _RECENT_MAX :], value)
        if math.isnan(value):
            return replace(self, recent=recent, slump=self.slump + bool(self.slump))
        low, pause = (self.low + 1, self.pause) if value < low_below else (0, self._pause())
        recent, slump = self._slump(recent, pause, low_below, little_below)
        learned = self.learned
        if slump > follow:
            learned, recent, low, slump = (), (), 0, 0
        elif not slump:
            learned = (*learned[1 - _LEARNED_MAX :], value)
        return replace(self, learned=learned, recent=recent, pause=pause, low=low, slump=slump)

    @property
    def normal(self) -> float:
        """The median of normal work; NaN while too little is known."""
        return float(median(self.learned)) if len(self.learned) >= LEARNED_MIN else float("nan")

    def mean(self, bins: int) -> float:
        """Of the known ones among the newest bins."""
        known = [value for value in self.recent[-bins:] if not math.isnan(value)]
        return float(np.mean(known)) if known else float("nan")

    def _pause(self) -> int:
        """The longest pause, once the low bins before this one have ended by themselves."""
        return self.pause if self.slump else max(self.pause, self.low)

    def _limits(self) -> tuple[float, float]:
        """A bin below the first is low, below the second a little low; NaN, which nothing is below, while unknown."""
        level, known = self.normal, len(self.learned)
        if known < self.warmup or not level >= _LEVEL_MIN:
            return float("nan"), float("nan")
        scale = float(median(abs(value - level) for value in self.learned))
        little_below = min(_LITTLE_SHARE * level, level - _LITTLE_SCALES * scale)
        low_below = min(LOW_SHARE * level, level - _SCALES * scale)
        return low_below, little_below if known >= max(self.warmup, _LITTLE_LEARNED_MIN) else low_below

    def _slump(
        self, recent: tuple[float, ...], pause: int, low_below: float, little_below: float
    ) -> tuple[tuple[float, ...], int]:
        """The bins to keep, and how many there are since the slump began.

        It begins when most of the newest bins are low, and lasts until ``FINE_BINS`` in a row are not even a little
        low.
        """
        if self.slump:
            known = [value for value in recent if not math.isnan(value)]
            if any(value < little_below for value in known[-FINE_BINS:]):
                return recent, self.slump + 1
            return recent[-FINE_BINS:], 0  # older low bins do not begin a second slump
        needed = min(max(self.low_bins_min, pause + 2), _RECENT_MAX // 2)
        of_little = min(max(needed, _LITTLE_BINS), _RECENT_MAX // 2)
        return recent, _bins_below(recent, low_below, needed) or _bins_below(recent, little_below, of_little)


def _bins_below(recent: tuple[float, ...], limit: float, needed: int) -> int:
    """Bins since the first of the newest ones below ``limit``, where ``needed`` of them are; else 0."""
    newest = recent[1 - 2 * needed :]
    below, fine = [value < limit for value in newest], [value >= limit for value in newest]
    # Two healthy bins in a row end a slump, so low bins before them (a checkpoint) are no part of this one.
    start = max((at + 2 for at in range(len(below) - 1) if fine[at] and fine[at + 1]), default=0)
    below = below[start:]
    return len(below) - below.index(True) if sum(below) >= needed else 0
