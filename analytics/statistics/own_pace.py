"""Does something that works in rounds work less than it always did? Short pauses that it always made are no news.

Values are means over bins of time. What is normal is the median of the bins learned; a slump is a stretch in which most
bins lie well below it. How long a pause may last is learned from the pauses that ended by themselves.
"""

from dataclasses import dataclass, field

import numpy as np

LOW_SHARE = 0.8  # of the normal level: training steps of one job vary by a few per cent from minute to minute
LEARNED_MIN = 6  # bins before there is a normal
_SPREADS = 4.0 * 1.4826  # robust standard deviations, for work that is uneven by nature
_LEARNED_MAX = 90
_RECENT_MAX = 27
_LEAST = 0.02  # a level below that is no work


@dataclass
class OwnPace:
    """One statistic of one worker.

    patience: low bins that make a slump before any pause was seen. warmup: bins learned before there may be one.

    learned: bins of normal times. recent: the newest bins. pause: longest run of low bins that ended by itself.
    low: low bins at the end of ``recent``, in a row. slump: bins since the slump began, 0 without one.
    """

    patience: int
    warmup: int = LEARNED_MIN
    learned: list[float] = field(default_factory=list)
    recent: list[float] = field(default_factory=list)
    pause: int = 0
    low: int = 0
    slump: int = 0

    def take(self, value: float, follow: int) -> None:
        """One more bin. A slump of more than ``follow`` bins is the new normal. NaN: nothing is known of this bin."""
        floor = self._floor()
        self.recent = [*self.recent[1 - _RECENT_MAX :], value]
        if value < floor:
            self.low += 1
        else:
            if not self.slump:
                self.pause = max(self.pause, self.low)
            self.low = 0
        self.slump = self._slump(floor)
        if self.slump > follow:
            self.learned, self.recent, self.low, self.slump = [], [], 0, 0
        elif not self.slump and not np.isnan(value):
            self.learned = [*self.learned[1 - _LEARNED_MAX :], value]

    @property
    def normal(self) -> float:
        """The median of normal times; NaN while too little is known."""
        return float(np.median(self.learned)) if len(self.learned) >= LEARNED_MIN else float("nan")

    def mean(self, bins: int) -> float:
        """Of the newest bins that are known."""
        known = [value for value in self.recent[-bins:] if not np.isnan(value)]
        return float(np.mean(known)) if known else float("nan")

    def _floor(self) -> float:
        """A bin below this is low; NaN, which nothing is below, while nothing is known."""
        level = self.normal
        if len(self.learned) < self.warmup or not level >= _LEAST:
            return float("nan")
        spread = float(np.median(np.abs(np.array(self.learned) - level)))
        return min(LOW_SHARE * level, level - _SPREADS * spread)

    def _slump(self, floor: float) -> int:
        """Bins since it began: when most of the newest ones are low, until two in a row are not."""
        if self.slump:
            if any(value < floor for value in self.recent[-2:]):
                return self.slump + 1
            self.recent = self.recent[-2:]  # what is over makes no second slump
            return 0
        needed = min(max(self.patience, self.pause + 2), _RECENT_MAX // 2)
        low = [value < floor for value in self.recent[1 - 2 * needed :]]
        # Two healthy bins in a row end a slump, so what was low before them (a checkpoint) is no part of this one.
        starts = max((at + 2 for at in range(len(low) - 1) if not low[at] and not low[at + 1]), default=0)
        low = low[starts:]
        return len(low) - low.index(True) if sum(low) >= needed else 0
