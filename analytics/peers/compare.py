"""The peer comparison: who is unlike the others of its group, for how long, and by how much.

Each member has a usual place in its group, learned slowly. What counts is how far it has left that place, against the
middle of its own kind at the same moment, so a group that changes together has no odd member. The distances add up over
samples (CUSUM), so that a small effect is found later than a large one and no single sample names anybody.

Source: Page (1954), Continuous inspection schemes; limit by Siegmund's (1985) approximation of the time between false
alarms.
"""

import math

import numpy as np
from numpy.typing import NDArray

from analytics.peers.modes import boundary, middle, spread
from telemetry.jit import compiled

USUAL, NOISE, COUNT, SUM, FAST, RUN, GROUP, DRIFT, WANDER = range(9)
WIDTH = 9
MEMBERS_MIN = 4
WARMUP = 12  # samples until a member's usual place is its own and not that of its kind

_SLACK = 1.25  # standard deviations that are not counted: half of the least shift that is worth finding
_QUIET_SAMPLES = 260_000.0  # of each group between two false alarms: a month at ten seconds
_STEP_SHARE = 0.55  # of the limit that one sample may add: two are needed, however large the effect
_HOST_SHARE = 0.3  # … where its whole host shows the same: it may have been read at another moment than the others
_SUM_MAX = 2.0  # limits: what is over is soon forgotten
_DRIFT = 0.2  # weight of the newest sample in a running mean …
_DRIFT_TIMES = 3.0  # … whose deviations are smaller by this, sqrt((2 - weight) / weight), where samples have no memory
_FAST = 0.5  # weight of the newest sample in the size of the effect
_SIGMA_PER_DEVIATION = 1.2533
_OVERSHOOT = 1.166  # standard deviations by which a sum passes its limit on average
_DOUBT = 0.75  # of a spread that is estimated from few values: the middle of many is worth more
_LEARN_BELOW = 4.0
_CLIP = 3.0
_LIMIT_SPREADS = 5.0
_LIMIT_SAMPLES = 2  # in a row


@compiled
def compare(
    starts: NDArray[np.int64],
    groups: NDArray[np.int64],
    hosts: NDArray[np.int64],
    values: NDArray[np.float64],
    new: NDArray[np.bool_],
    sids: NDArray[np.int64],
    state: NDArray[np.float32],
    floor: float,
    effect_min: float,
    limit: float,
    alpha: float,
    follow: int,
    whole: bool,
    score: NDArray[np.float64],
    normal: NDArray[np.float64],
) -> None:
    """Judges and learns n rows, sorted by group and host.

    starts: int64[groups + 1], first row of each group. groups, hosts: int64[n], numbers below 2**24.
    values: float64[n], turned so that more is worse. new: bool[n], rows that bring a sample; the others are witnesses.
    sids: int64[n], rows of ``state``: float32[series, 9], all zero for a new series.
    floor: least standard deviation. effect_min: least distance that matters. limit: distance from its kind that is odd
    even where it was always so; infinite for none. alpha: weight of a new sample in what is usual.
    follow: samples after which a new place is the usual one. whole: whether all of a host may be odd; what depends on
    the moment of the collection is compared within the host instead, where it has three members.
    score: float64[n] out, 1.0 = named. normal: float64[n] out, the value that it should have.
    """
    for g in range(starts.size - 1):
        start, end = starts[g], starts[g + 1]
        n = end - start
        score[start:end], normal[start:end] = 0.0, np.nan
        if n < MEMBERS_MIN:
            continue
        y, rows = values[start:end], sids[start:end]
        _renew(state, rows, groups[start])
        centre = middle(np.sort(y))
        known, fast, usual = _history(state, rows, y - centre, new[start:end])
        # The group's middle may have jumped from one mode to the other: what is usual is kept against the old one.
        jump = middle(np.sort((y - centre - usual)[known])) if known.any() else 0.0
        levels = np.where(known, usual, fast - jump)
        upper = levels > boundary(levels, floor, effect_min)
        place = _by_kind(fast, upper)  # the middle of each member's kind
        usual = np.where(known, usual, place)
        moved = y - centre - usual
        rest = moved - _by_kind(moved, upper)  # without what a kind does together
        if not whole:
            rest -= _by_host(rest, hosts[start:end])
        noise = max(floor, _DOUBT * spread(rest, 0.0))
        if known.any():
            noise = max(noise, _SIGMA_PER_DEVIATION * middle(np.sort(state[rows[known], NOISE])))
            noise = max(noise, _SIGMA_PER_DEVIATION * middle(np.sort(state[rows[known], WANDER])))
        # Many odd ones on one side pull the middle towards them: it is taken again without them.
        rest -= _by_kind(np.where(np.abs(rest) <= _CLIP * noise, rest, np.nan), upper)
        common = _by_host(rest, hosts[start:end])
        wide = max(floor, spread(fast - place, 0.0))
        alarm = math.log(2.0 * _SLACK * _SLACK * _QUIET_SAMPLES * n) / (2.0 * _SLACK) - _OVERSHOOT
        for i in range(n):
            row = state[rows[i]]
            own = noise
            if known[i]:
                own = max(noise, _DOUBT * _SIGMA_PER_DEVIATION * max(row[NOISE], row[WANDER]))
                if new[start + i]:
                    share = _HOST_SHARE if 2.0 * common[i] > rest[i] else _STEP_SHARE
                    step = min(rest[i] / own - _SLACK, share * alarm)
                    row[SUM] = min(max(0.0, row[SUM] + step), _SUM_MAX * alarm)
            if new[start + i]:
                row[RUN] = row[RUN] + 1.0 if row[SUM] > 0.0 or y[i] - centre - place[i] > limit else 0.0
            shift = moved[i] - rest[i]
            effect, away = fast[i] - usual[i] - shift, fast[i] - place[i]
            score[start + i] = min(row[SUM] / alarm, effect / effect_min)
            normal[start + i] = centre + usual[i] + shift
            odd = min(away / limit, away / (_LIMIT_SPREADS * wide))
            if row[RUN] >= _LIMIT_SAMPLES and odd > score[start + i]:
                score[start + i], normal[start + i] = odd, centre + place[i]
            if new[start + i]:
                _learn(row, y[i] - centre - jump, place[i] - jump, rest[i], own, limit, alpha, alarm)
                if row[SUM] >= alarm and row[RUN] >= follow:
                    row[COUNT] = row[SUM] = row[RUN] = 0.0


@compiled
def _renew(state: NDArray[np.float32], rows: NDArray[np.int64], group: int) -> None:
    """A member that comes from another group starts anew; one that was away only goes on."""
    for row in rows:
        if state[row, GROUP] != group:
            state[row, :] = 0.0
            state[row, GROUP] = group


@compiled
def _history(
    state: NDArray[np.float32], rows: NDArray[np.int64], at: NDArray[np.float64], new: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
    """Of each member: whether its usual place is known, where it has been lately, and what is usual."""
    known, fast, usual = np.zeros(rows.size, np.bool_), np.empty(rows.size), np.zeros(rows.size)
    for i in range(rows.size):
        row = state[rows[i]]
        if row[COUNT] == 0.0:
            row[FAST] = at[i]
        elif new[i]:
            row[FAST] += _FAST * (at[i] - row[FAST])
        known[i], fast[i], usual[i] = row[COUNT] >= WARMUP, row[FAST], row[USUAL]
    return known, fast, usual


@compiled
def _learn(
    row: NDArray[np.float32], at: float, place: float, rest: float, own: float, limit: float, alpha: float, alarm: float
) -> None:
    """One more sample of a member. at: its distance from the group's middle. rest: what nothing explains of it."""
    row[COUNT] = min(row[COUNT] + 1.0, 1e6)
    weight = max(alpha, 1.0 / row[COUNT])
    if row[COUNT] <= WARMUP:
        row[USUAL] += weight * (min(max(at, place - limit), place + limit) - row[USUAL])
    elif _LEARN_BELOW * row[SUM] < alarm:
        row[USUAL] += weight * min(max(rest, -_CLIP * own), _CLIP * own)
        row[USUAL] = min(max(row[USUAL], place - limit), place + limit)
    # Noise with a memory does not cancel out in sums: the running mean of the samples tells.
    row[DRIFT] += _DRIFT * (rest - row[DRIFT])
    if 2.0 * row[SUM] < alarm:
        row[NOISE] += weight * (min(abs(rest), _CLIP * own) - row[NOISE])
        row[WANDER] += weight * (min(_DRIFT_TIMES * abs(row[DRIFT]), _CLIP * own) - row[WANDER])


@compiled
def _by_kind(values: NDArray[np.float64], upper: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The middle of each row's mode, NaN values left out; 0 for a mode without any."""
    middles = np.zeros(2)
    for kind in range(2):
        mine = values[(upper == (kind == 1)) & ~np.isnan(values)]
        if mine.size:
            middles[kind] = middle(np.sort(mine))
    return np.asarray(np.where(upper, middles[1], middles[0]))


@compiled
def _by_host(values: NDArray[np.float64], hosts: NDArray[np.int64]) -> NDArray[np.float64]:
    """The middle of each row's host, 0 where fewer than three rows share it or it is the only one."""
    found = np.zeros(values.size)
    start = 0
    while start < values.size:
        end = start
        while end < values.size and hosts[end] == hosts[start]:
            end += 1
        if 3 <= end - start < values.size:
            found[start:end] = middle(np.sort(values[start:end]))
        start = end
    return found
