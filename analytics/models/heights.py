"""How surprising it is that a series is as high as it is, by how often it was before.

A healthy port is paused, marks and queues in bursts: most samples are 0, and a mean with a scale says nothing about the
next burst. So each series has counts of the samples that reached a detector's limit, twice that, four times …, which
fade with the horizon of the baselines. The surprise of a sample is -ln of the share of samples that came as high.

The surprises of samples in a row add up, less ``DRIFT`` each, so that what is as likely as not proves nothing (a CUSUM
of log-likelihoods: Page (1954), Continuous inspection schemes). Samples of a run are learned when the next run begins,
or when it has lasted for ``follow_s``: then its height is the usual one. While there is a finding about a series none
are, and what was usual before it does not fade. Afterwards its run counts for a few samples alone.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

RUNGS = 4  # the limit, and 2, 4 and 8 times it
# Assumption: without any history one sample in a hundred is at the limit, and a quarter of that at twice it (a Pareto
# tail with exponent 2). It counts as much as sixty samples,
# so that a fault that comes and goes is not usual at once.
_PRIOR_SHARE = 0.01 * 0.25 ** np.arange(RUNGS)
_PRIOR_SAMPLES = 60.0
DRIFT = float(np.log(2.0))
LIMIT = 7.5  # nats: two samples in a row that come once in a hundred each, or one that comes once in some thousands
_ONE_SAMPLE, _SURE_RUNG = 0.6 * LIMIT, 2  # that one sample counts for at most, below this rung
_MOST = 1.5 * LIMIT  # so that a run that has become usual ends soon
_GAP = 1.5  # times the usual time between samples, beyond which a run ends where a low sample came meanwhile
_MISSED = 2.5  # the same where none came: a sample was lost, and a fault would be learned with each one
# Samples that a run counts for at most that was reported: what comes back is found again within a minute. While its job
# waits for something else, a port carries nothing and its fault does not show.
_REPORTED_MOST = 30.0
_FORGOTTEN = 60.0  # samples, by when nothing is left of a sum that halves with each


class Heights(NamedTuple):
    """State of n series, written in place.

    since_ns, high_ns, low_ns: int64[n], event time of the first sample, and of the newest one at and below the limit; 0
    without any.
    began_ns: int64[n], of the newest run. surprise: float64[n], its sum so far, in nats.
    usual, run: float64[n, RUNGS], fading counts of samples that reached each rung: before the newest run, and in it.
    """

    since_ns: NDArray[np.int64]
    high_ns: NDArray[np.int64]
    low_ns: NDArray[np.int64]
    began_ns: NDArray[np.int64]
    surprise: NDArray[np.float64]
    usual: NDArray[np.float64]
    run: NDArray[np.float64]


class Samples(NamedTuple):
    """Samples at or above the limit, each newer than the newest one of its series; k of them.

    rows: int64[k], of the series, each once. at_ns: int64[k]. score: float64[k] >= 1, in units of the limit.
    every_s: float64[k], time between two samples of the series. reported: bool[k], whether there is a finding about it.
    weight: what one counts for, less than 1 for a bound.
    """

    rows: NDArray[np.int64]
    at_ns: NDArray[np.int64]
    score: NDArray[np.float64]
    every_s: NDArray[np.float64]
    reported: NDArray[np.bool_]
    weight: float


def learn(heights: Heights, samples: Samples, horizon_s: float, follow_s: float) -> None:
    """Adds the surprise of each sample, by what was usual before its run, and learns it."""
    rows, at_ns, score, every_s, reported, weight = samples
    gap_s = (at_ns - heights.high_ns[rows]) * 1e-9
    was_low = heights.low_ns[rows] > heights.high_ns[rows]
    continues = gap_s <= np.where(was_low, _GAP, _MISSED) * every_s
    fade = np.exp(-gap_s / horizon_s)[:, None]
    usual, run = np.where(reported[:, None], 1.0, fade) * heights.usual[rows], heights.run[rows] * fade
    merged = ~reported & (~continues | ((at_ns - heights.began_ns[rows]) * 1e-9 >= follow_s))
    usual[merged] += run[merged]
    run[merged] = 0.0
    rung = np.minimum(np.log2(score).astype(np.int64), RUNGS - 1)
    gain = weight * _gain(usual[np.arange(rows.size), rung], rung, _samples_known(heights, samples, horizon_s))
    before = heights.surprise[rows] * np.where(continues, 1.0, 0.5 ** np.minimum(gap_s / every_s - 1.0, _FORGOTTEN))
    heights.surprise[rows] = np.clip(before + gain, 0.0, _MOST)
    heights.began_ns[rows] = np.where(before < DRIFT, at_ns, heights.began_ns[rows])
    heights.high_ns[rows] = at_ns
    run += np.arange(RUNGS) <= rung[:, None]
    heights.usual[rows], heights.run[rows] = usual, np.where(reported[:, None], np.minimum(run, _REPORTED_MOST), run)


def _samples_known(heights: Heights, samples: Samples, horizon_s: float) -> NDArray[np.float64]:
    """float64[k]: how many samples of each series came so far, fading as the counts do."""
    age_s = (samples.at_ns - heights.since_ns[samples.rows]) * 1e-9
    return np.asarray(horizon_s * -np.expm1(-age_s / horizon_s) / samples.every_s)


def _gain(reached: NDArray[np.float64], rung: NDArray[np.int64], known: NDArray[np.float64]) -> NDArray[np.float64]:
    """The surprise of one sample less the drift. reached: how many of the ``known`` samples came to this rung."""
    share = (reached + _PRIOR_SAMPLES * _PRIOR_SHARE[rung]) / (known + _PRIOR_SAMPLES)
    gain = -np.log(np.minimum(share, 1.0)) - DRIFT
    return np.where(rung >= _SURE_RUNG, gain, np.minimum(gain, _ONE_SAMPLE))
