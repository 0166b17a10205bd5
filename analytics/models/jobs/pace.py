"""Does something that works in rounds work less than it always did? Short pauses that it always made are no news.

Values are means over bins of time. What is normal is the median of the bins learned; a slump is a stretch in which most
bins lie well below it, or a longer one in which most lie a little below. How long a pause may last is learned from the
pauses that ended by themselves.
"""

import math
from dataclasses import dataclass, replace
from statistics import median

import numpy as np

LOW_SHARE = 0.8  # of the normal level: training steps of one job vary by a few per cent from minute to minute
LEARNED_MIN = 6  # bins before there is a normal
_SCALES = 4.0 * 1.4826  # robust standard deviations, for work that is uneven by nature
# A little low: for a minute, by more than the scale of single bins, and by what two minutes of normal times can tell.
_LITTLE_SHARE, _LITTLE_SCALES, _LASTS, _LITTLE_LEARNED_MIN = 0.92, 3.0 * 1.4826, 6, 12
_LEARNED_MAX = 90
_RECENT_MAX = 27
_LEAST = 0.02  # a level below that is no work


@dataclass(frozen=True, slots=True)
class Pace:
    """One statistic of one worker; ``updated`` gives the next one.

    low_bins_min: low bins that make a slump before any pause was seen. warmup: bins learned before there may be one.

    learned: bins of normal times. recent: the newest bins. pause: longest run of low bins that ended by itself.
    low: low bins at the end of ``recent``, in a row. slump: bins since the slump began, 0 without one.
    """

    low_bins_min: int
    warmup: int = LEARNED_MIN
    learned: tuple[float, ...] = ()
    recent: tuple[float, ...] = ()
    pause: int = 0
    low: int = 0
    slump: int = 0

    def updated(self, value: float, follow: int) -> "Pace":
        """With one more bin. A slump of more than ``follow`` bins is the new normal. NaN: the bin is not known."""
        floor, little = self._floors()
        recent = (*self.recent[1 - _RECENT_MAX :], value)
        if math.isnan(value):
            return replace(self, recent=recent, slump=self.slump + bool(self.slump))
        low, pause = (self.low + 1, self.pause) if value < floor else (0, self._pause())
        recent, slump = self._slump(recent, pause, floor, little)
        learned = self.learned
        if slump > follow:
            learned, recent, low, slump = (), (), 0, 0
        elif not slump:
            learned = (*learned[1 - _LEARNED_MAX :], value)
        return replace(self, learned=learned, recent=recent, pause=pause, low=low, slump=slump)

    @property
    def normal(self) -> float:
        """The median of normal times; NaN while too little is known."""
        return float(np.median(self.learned)) if len(self.learned) >= LEARNED_MIN else float("nan")

    def mean(self, bins: int) -> float:
        """Of the newest bins that are known."""
        known = [value for value in self.recent[-bins:] if not math.isnan(value)]
        return float(np.mean(known)) if known else float("nan")

    def _pause(self) -> int:
        """The longest pause, once the low bins before this one have ended by themselves."""
        return self.pause if self.slump else max(self.pause, self.low)

    def _floors(self) -> tuple[float, float]:
        """A bin below the first is low, below the second a little low; nothing is below NaN, which is not known."""
        level, known = self.normal, len(self.learned)
        if known < self.warmup or not level >= _LEAST:
            return float("nan"), float("nan")
        scale = float(median(abs(value - level) for value in self.learned))
        little = min(_LITTLE_SHARE * level, level - _LITTLE_SCALES * scale)
        floor = min(LOW_SHARE * level, level - _SCALES * scale)
        return floor, little if known >= max(self.warmup, _LITTLE_LEARNED_MIN) else floor

    def _slump(
        self, recent: tuple[float, ...], pause: int, floor: float, little: float
    ) -> tuple[tuple[float, ...], int]:
        """The bins to remember, and how many there are since the slump began.

        It begins when most of the newest bins are low, and lasts until two in a row are not even a little low.
        """
        if self.slump:
            known = [value for value in recent if not math.isnan(value)]
            if any(value < little for value in known[-2:]):
                return recent, self.slump + 1
            return recent[-2:], 0  # what is over makes no second slump
        needed = min(max(self.low_bins_min, pause + 2), _RECENT_MAX // 2)
        began = _began(recent, floor, needed) or _began(recent, little, min(max(needed, _LASTS), _RECENT_MAX // 2))
        return recent, began


def _began(recent: tuple[float, ...], floor: float, needed: int) -> int:
    """Bins since the first of the newest ones below ``floor``, where ``needed`` of them are; else 0."""
    newest = recent[1 - 2 * needed :]
    low, fine = [value < floor for value in newest], [value >= floor for value in newest]
    # Two healthy bins in a row end a slump, so what was low before them (a checkpoint) is no part of this one.
    starts = max((at + 2 for at in range(len(low) - 1) if fine[at] and fine[at + 1]), default=0)
    low = low[starts:]
    return len(low) - low.index(True) if sum(low) >= needed else 0
