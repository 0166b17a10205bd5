"""How often each series and each target is heard of, as far as it is known in a tick.

What waits, clears or goes stale does so in the cadence of its evidence. Values are learned in ``state.usual_gap``; here
they are filled up where nothing is learned, and kept within limits.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.state import usual_gap
from analytics.state.columns import locked
from analytics.state.target_cadence import refreshes
from analytics.view.tick_data import TickData

# A series with gaps that are longer than this reports on change, not in a rhythm: what is older is stale all the same.
_GAP_S_MAX = 900.0
_ROUNDING = 1e-6  # of a light tick


def target_cadence(tick: TickData) -> NDArray[np.float64]:
    """float64[targets]: usual seconds between two collections; the configured interval before the second one."""
    usual_s, interval_s = tick.targets["usual_s"], tick.config.interval_s
    return np.where(usual_s > 0, np.maximum(usual_s, tick.config.tick_ns * 1e-9), interval_s)


def target_refresh(tick: TickData) -> NDArray[np.float64]:
    """float64[targets]: usual seconds between two collections that say something new. An exporter that reads its device
    in a rhythm of its own repeats itself meanwhile, which no series by itself shows."""
    targets = tick.targets
    every_s = refreshes(targets["moved_gaps_s"], targets["usual_s"], tick.config.tick_ns * 1e-9)
    return np.maximum(target_cadence(tick), every_s)


def devices_read_often(tick: TickData) -> dict[str, float]:
    """By device of which every target is collected more often than the configured interval, seconds between two
    collections of the slowest one. In whole light ticks, as a collection counts at the end of one: jitter is no change.
    """
    cadence_s, light_s = target_cadence(tick), tick.config.light_tick_ns * 1e-9
    every_s = np.zeros(len(tick.index.objects))
    np.maximum.at(every_s, tick.index.device_objects, np.ceil(cadence_s / light_s - _ROUNDING) * light_s)
    often = np.flatnonzero((every_s > 0.0) & (every_s < tick.config.interval_s))
    return {tick.index.object_ref(number).device: float(every_s[number]) for number in often.tolist()}


def series_cadence(tick: TickData, sids: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
    """float64[series]: usual seconds between two values. sids: of these alone.

    Before the second value that of its target, or the configured interval where that is longer: one target may have
    groups of series, each with an interval of its own. At least a tick, as nothing is judged more often.
    """
    targets, of = np.maximum(target_cadence(tick), tick.config.interval_s), tick.index.columns["target"]
    gaps_s = tick.series["gaps_s"]
    if sids is not None:
        gaps_s, of = locked(gaps_s[sids]), locked(of[sids])  # as whole columns are: compiled once for both
    cadence_s = np.empty(of.size)
    usual_gap.fill(gaps_s, targets, of, tick.config.tick_ns * 1e-9, _GAP_S_MAX, cadence_s)
    return cadence_s
