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

from analytics.peers.modes import boundary, spread
from telemetry.jit import compiled

USUAL, NOISE, COUNT, SUM, EFFECT, RUN, GROUP, DRIFT, WANDER = range(9)
WIDTH = 9
MEMBERS_MIN = 4
WARMUP = 12  # samples until a member's usual place is its own and not that of its kind

_SLACK = 1.25  # standard deviations that are not counted: half of the least shift that is worth finding
_QUIET_SAMPLES = 260_000.0  # of each group between two false alarms: a month at ten seconds
_STEP_SHARE = 0.55  # of the limit that one sample may add: two are needed, however large the effect
_HOST_SHARE = 0.4  # … where its whole host shows the same: it may have been read at another moment than the others
_SUM_MAX = 2.0  # limits: what is over is soon forgotten
_DRIFT = 0.2  # weight of the newest sample in a running mean …
_DRIFT_TIMES = 3.0  # … whose deviations are smaller by this, sqrt((2 - weight) / weight), where samples have no memory
_NEWEST = 0.5  # weight of the newest sample in the size of the effect
_SIGMA_PER_DEVIATION = 1.2533
_OVERSHOOT = 1.166  # standard deviations by which a sum passes its limit on average
_DOUBT = 0.75  # of a spread that is estimated from few values: the middle of many is worth more
_SUMMED = 4.0  # samples of a sum that share the error of the usual place
_LEARN_BELOW = 4.0
_CLIP = 3.0
# Spreads from the middle that one in a thousand groups of a bell reaches: 5 in large ones, by simulation 7, 13 and 35 of
# the estimated spread among 16, 8 and 4.
_LIMIT_SPREADS, _LIMIT_FEW = 5.0, 500.0
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
        y, rows, at_host = values[start:end], sids[start:end], hosts[start:end]
        _renew(state, rows, groups[start])
        members = state[rows]
        seen, known = members[:, COUNT] > 0.0, members[:, COUNT] >= WARMUP
        at, usual = y - np.median(y), members[:, USUAL].astype(np.float64)
        # The group's middle may have jumped from one mode to the other: what is usual is kept against the old one.
        if seen.any():
            at -= np.median((at - usual)[seen])
        usual = np.where(seen, usual, at)
        upper = usual > boundary(usual, floor, effect_min)
        everyone = np.ones(n, np.bool_)
        rest = at - usual
        rest -= _by_kind(rest, upper, everyone)  # without what a kind does together
        if not whole:
            rest -= _by_host(rest, at_host)
        noise = max(floor, _DOUBT * spread(rest, 0.0))
        if known.any():
            noise = max(noise, _SIGMA_PER_DEVIATION * np.median(members[known, NOISE]))
            noise = max(noise, _SIGMA_PER_DEVIATION * np.median(members[known, WANDER]))
        # Many odd ones on one side pull the middle towards them: it is taken again without them.
        rest -= _by_kind(rest, upper, np.abs(rest) <= _CLIP * noise)
        place = _by_kind(usual, upper, everyone)  # the middle of each member's kind
        odd_from = (_LIMIT_SPREADS + _LIMIT_FEW / (n * n)) * max(floor, spread(usual - place, 0.0))
        alarm = math.log(2.0 * _SLACK * _SLACK * _QUIET_SAMPLES * n) / (2.0 * _SLACK) - _OVERSHOOT
        common = _by_host(rest, at_host)
        for i in range(n):
            row, offset = state[rows[i]], usual[i] - place[i]
            if new[start + i]:
                own = max(noise, _DOUBT * _SIGMA_PER_DEVIATION * max(row[NOISE], row[WANDER]))
                if known[i]:
                    share = _HOST_SHARE if 2.0 * common[i] > rest[i] else _STEP_SHARE
                    unsure = own * math.sqrt(1.0 + _SUMMED / row[COUNT])
                    step = min(rest[i] / unsure - _SLACK, share * alarm)
                    row[SUM] = min(max(0.0, row[SUM] + step), _SUM_MAX * alarm)
                row[EFFECT] = rest[i] if row[RUN] == 0.0 else row[EFFECT] + _NEWEST * (rest[i] - row[EFFECT])
                row[RUN] = row[RUN] + 1.0 if row[SUM] > 0.0 or offset + rest[i] > limit else 0.0
            score[start + i] = min(row[SUM] / alarm, row[EFFECT] / effect_min)
            normal[start + i] = y[i] - rest[i]
            away = offset + row[EFFECT]
            odd = min(away / limit, away / odd_from)
            if row[RUN] >= _LIMIT_SAMPLES and odd > score[start + i]:
                score[start + i], normal[start + i] = odd, y[i] - rest[i] - offset
            if new[start + i]:
                _learn(row, at[i], place[i], rest[i], own, limit, alpha, alarm)
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
    if row[COUNT] == 1.0:
        return  # one sample has no spread
    weight = max(alpha, 1.0 / (row[COUNT] - 1.0))
    # Noise with a memory does not cancel out in sums: the running mean of the samples tells.
    row[DRIFT] += _DRIFT * (rest - row[DRIFT])
    if 2.0 * row[SUM] < alarm:
        row[NOISE] += weight * (min(abs(rest), _CLIP * own) - row[NOISE])
        row[WANDER] += weight * (min(_DRIFT_TIMES * abs(row[DRIFT]), _CLIP * own) - row[WANDER])


@compiled
def _by_kind(
    values: NDArray[np.float64], upper: NDArray[np.bool_], of: NDArray[np.bool_]
) -> NDArray[np.float64]:
    """The middle of each row's mode, over the rows ``of``; 0 for a mode without any."""
    middles = np.zeros(2)
    for kind in range(2):
        mine = values[of & (upper == (kind == 1))]
        if mine.size:
            middles[kind] = np.median(mine)
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
            found[start:end] = np.median(values[start:end])
        start = end
    return found
