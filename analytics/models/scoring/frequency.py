"""Departures of a series that rests, as pauses of a port: each as high as usual, and far more often or far longer.

A CUSUM (Page 1954, Continuous inspection schemes) of likelihood ratios that a value begins a departure; a value that
goes on with one counts a quarter of that. What has come in clusters before has to come in a larger one.
"""

import numpy as np

from analytics.models.scoring import rest as rests
from analytics.models.scoring.layout import Core
from common.jit import compiled_unchecked as compiled

_USUAL_MIN = 0.01  # share of values that begin a departure
_MORE_OFTEN, _OFTEN_MAX = 6.0, 0.5
_FORGOTTEN = 1.0 / 128.0  # at each value: evidence of long ago does not alert
_LASTS = 0.25  # of the evidence of a departure that begins: one that goes on
_SPREAD = 0.6  # of the largest cluster so far: by how much more, in each nat, the next one may exceed it
_LEARNED, _LEARNED_MAX = 0.25, 3.0  # of what a cluster is beyond that, and nats
_MAX_FORGOTTEN = 1e-3  # at each value without evidence


@compiled
def evidence(core: Core, x: float) -> float:
    """That departures begin more often than usual, in nats, with this value."""
    # That share of all values departs; fewer begin a departure, which is on the safe side.
    usual = max(1.0 - core.rest, _USUAL_MIN)
    often = min(_MORE_OFTEN * usual, _OFTEN_MAX)
    kept = (1.0 - _FORGOTTEN) * core.frequency
    if rests.is_near(core, x):
        return float(max(kept + np.log((1.0 - often) / (1.0 - usual)), 0.0))
    begins = rests.is_near(core, core.last)
    return float(kept + (1.0 if begins else _LASTS) * np.log(often / usual))


@compiled
def surprise(core: Core, x: float) -> float:
    """In nats, about more evidence than ever before; where clusters were large, each counts for less."""
    if core.rest <= rests.RESTING:
        return 0.0
    beyond = max(evidence(core, x) - core.frequency_max, 0.0)
    return beyond / max(_SPREAD * core.frequency_max, 1.0)


@compiled
def learn(core: Core, x: float, known: bool) -> None:
    """A cluster is learned when it is over: in full while a series is not known, later in part, as one event does not
    make the next one usual.
    """
    core.frequency = evidence(core, x) if core.rest > rests.RESTING else 0.0
    if core.frequency > 0.0:
        core.frequency_peak = max(core.frequency_peak, core.frequency)
        return
    beyond = core.frequency_peak - core.frequency_max
    if beyond <= 0.0:
        core.frequency_max -= _MAX_FORGOTTEN * core.frequency_max
    else:
        core.frequency_max += min(_LEARNED * beyond, _LEARNED_MAX) if known else beyond
    core.frequency_peak = 0.0
