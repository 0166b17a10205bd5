"""Does something that works in rounds work less than it always did? Short pauses that it always made are no news.

Values are means over bins of time. What is normal is the median of the bins learned; a slump is a stretch in which most
bins lie well below it, or a longer one in which most lie a little below. How long a pause may last is learned from the
pauses that ended by themselves.
"""

from dataclasses import dataclass, field

import numpy as np

LOW_SHARE = 0.8  # of the normal level: training steps of one job vary by a few per cent from minute to minute
LEARNED_MIN = 6  # bins before there is a normal
_SPREADS = 4.0 * 1.4826  # robust standard deviations, for work that is uneven by nature
# A little low: for a minute, by more than the spread of single bins, and by what two minutes of normal times can tell.
_LITTLE_SHARE, _LITTLE_SPREADS, _LASTS, _LITTLE_LEARNED_MIN = 0.92, 3.0 * 1.4826, 6, 12
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
        floor, little = self._floors()
        self.recent = [*self.recent[1 - _RECENT_MAX :], value]
        if np.isnan(value):
            self.slump += bool(self.slump)
            return
        if value < floor:
            self.low += 1
        else:
            if not self.slump:
                self.pause = max(self.pause, self.low)
            self.low = 0
        self.slump = self._slump(floor, little)
        if self.slump > follow:
            self.learned, self.recent, self.low, self.slump = [], [], 0, 0
        elif not self.slump:
            self.learned = [*self.learned[1 - _LEARNED_MAX :], value]

    @property
    def normal(self) -> float:
        """The median of normal times; NaN while too little is known."""
        return float(np.median(self.learned)) if len(self.learned) >= LEARNED_MIN else float("nan")

    def mean(self, bins: int) -> float:
        """Of the newest bins that are known."""
        known = [value for value in self.recent[-bins:] if not np.isnan(value)]
        return float(np.mean(known)) if known else float("nan")

    def _floors(self) -> tuple[float, float]:
        """A bin below the first is low, below the second a little low; nothing is below NaN, which is not known."""
        level, known = self.normal, len(self.learned)
        if known < self.warmup or not level >= _LEAST:
            return float("nan"), float("nan")
        spread = float(np.median(np.abs(np.array(self.learned) - level)))
        little = min(_LITTLE_SHARE * level, level - _LITTLE_SPREADS * spread)
        floor = min(LOW_SHARE * level, level - _SPREADS * spread)
        return floor, little if known >= max(self.warmup, _LITTLE_LEARNED_MIN) else floor

    def _slump(self, floor: float, little: float) -> int:
        """Bins since it began: when most of the newest ones are low, until two in a row are not even a little low."""
        if self.slump:
            known = [value for value in self.recent if not np.isnan(value)]
            if any(value < little for value in known[-2:]):
                return self.slump + 1
            self.recent = self.recent[-2:]  # what is over makes no second slump
            return 0
        needed = min(max(self.patience, self.pause + 2), _RECENT_MAX // 2)
        return self._began(floor, needed) or self._began(little, min(max(needed, _LASTS), _RECENT_MAX // 2))

    def _began(self, floor: float, needed: int) -> int:
        """Bins since the first of the newest ones below ``floor``, where ``needed`` of them are; else 0."""
        newest = self.recent[1 - 2 * needed :]
        low, fine = [value < floor for value in newest], [value >= floor for value in newest]
        # Two healthy bins in a row end a slump, so what was low before them (a checkpoint) is no part of this one.
        starts = max((at + 2 for at in range(len(low) - 1) if fine[at] and fine[at + 1]), default=0)
        low = low[starts:]
        return len(low) - low.index(True) if sum(low) >= needed else 0
