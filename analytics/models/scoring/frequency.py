"""Departures of a series that rests, as pauses of a port: each as high as usual, and far more often.

A CUSUM (Page 1954, Continuous inspection schemes) of likelihood ratios that a value begins a departure. What has come
in clusters before has to come in a larger one.
"""

import numpy as np

from analytics.models.scoring import rest as rests
from analytics.models.scoring.layout import Core
from common.jit import compiled_unchecked as compiled

_USUAL_MIN = 0.01  # share of values that begin a departure
_MORE_OFTEN, _OFTEN_MAX = 6.0, 0.5
_FORGOTTEN = 1.0 / 128.0  # at each value: evidence of long ago does not alert
_LEARNED, _MAX_FORGOTTEN = 0.25, 1e-3  # at each cluster


@compiled
def evidence(core: Core, x: float) -> float:
    """That departures begin more often than usual, in nats, with this value."""
    # That share of all values departs; fewer begin a departure, which is on the safe side.
    usual = max(1.0 - core.rest, _USUAL_MIN)
    often = min(_MORE_OFTEN * usual, _OFTEN_MAX)
    begins = not rests.is_near(core, x) and rests.is_near(core, core.last)
    ratio = often / usual if begins else (1.0 - often) / (1.0 - usual)
    return float(max((1.0 - _FORGOTTEN) * core.frequency + np.log(ratio), 0.0))


@compiled
def surprise(core: Core, x: float) -> float:
    """In nats, about more evidence than ever before."""
    return max(evidence(core, x) - core.frequency_max, 0.0) if core.rest > rests.RESTING else 0.0


@compiled
def learn(core: Core, x: float) -> None:
    """A cluster is learned when it is over, and in part: one event does not make the next one usual."""
    core.frequency = evidence(core, x) if core.rest > rests.RESTING else 0.0
    if core.frequency > 0.0:
        core.frequency_peak = max(core.frequency_peak, core.frequency)
        return
    beyond = core.frequency_peak - core.frequency_max
    core.frequency_max += _LEARNED * beyond if beyond > 0.0 else -_MAX_FORGOTTEN * core.frequency_max
    core.frequency_peak = 0.0
