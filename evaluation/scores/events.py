"""What is known of an event before any method sees it: how long after the last one, how high, in which direction."""

from dataclasses import dataclass

import numpy as np

from evaluation.series.folders import Recording
from evaluation.series.labelled import Window
from evaluation.series.signals import Floats

_BEFORE = 300  # points that an event is compared with
_SIGMA_PER_MAD = 1.4826
_DISTANCES = (30, 100, 300, 1000)  # points
_HEIGHTS = (3, 6, 12)  # standard deviations
FIRST = "first"


@dataclass(frozen=True, slots=True)
class Event:
    """distance: points since the end of the one before, None for the first. sigmas: the largest distance from the
    median of the points before, in their robust standard deviations, negative when below; of the column where it is
    largest.
    """

    distance: int | None
    sigmas: float

    def classes(self) -> dict[str, str]:
        """Its row in each table."""
        near = FIRST if self.distance is None else _below(self.distance, _DISTANCES, "points")
        height = _below(abs(self.sigmas), _HEIGHTS, "σ")
        return {"distance": near, "height": height, "direction": "up" if self.sigmas >= 0.0 else "down"}


def events_of(recording: Recording) -> list[Event]:
    """Of each window of a recording, in their order."""
    windows, found = recording.columns[0].windows, []
    end: int | None = None
    for window in windows:
        heights = [_sigmas(each.values, window, windows) for each in recording.columns]
        found.append(Event(None if end is None else window.start - end, max(heights, key=abs)))
        end = window.end
    return found


def _sigmas(values: Floats, window: Window, windows: tuple[Window, ...]) -> float:
    first = max(window.start - _BEFORE, 0)
    quiet = np.ones(window.start - first, dtype=np.bool_)
    for each in windows:
        quiet[max(each.start - first, 0) : max(each.end - first, 0)] = False
    before = values[first : window.start][quiet]
    if not before.size:
        return 0.0
    median = float(np.median(before))
    sigma = _SIGMA_PER_MAD * float(np.median(np.abs(before - median))) or float(before.std()) or 1e-9
    off = (values[window.start : window.end] - median) / sigma
    return float(off[np.argmax(np.abs(off))])


def _below(size: float, limits: tuple[int, ...], unit: str) -> str:
    for limit in limits:
        if size < limit:
            return f"below {limit:,} {unit}"
    return f"{limits[-1]:,} {unit} and more"
