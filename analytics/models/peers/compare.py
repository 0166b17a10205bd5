"""The peer comparison: who is unlike the others of its group, for how long, and by how much.

Each member has a usual place in its group, learned slowly. What counts is how far it has left that place, against the
median of its own kind at the same moment, so a group that changes together has no odd member. The distances add up over
samples (CUSUM) in units of the noise that is left, however far apart the members always were, so that a small effect is
found later than a large one and no single sample names anybody.

Source: Page (1954), Continuous inspection schemes; limit by Siegmund's (1985) approximation of the time between false
alarms.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.peers.modes import boundary, mad_scale
from analytics.models.peers.rules import BUSY, FLOOR, LEAST, LIMIT, WHOLE, WORSE
from common.jit import compiled

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
_LEARN_BELOW = 0.25  # of the limit: what may be a fault teaches no place …
_CALM_BELOW = 0.5  # … and no noise
_CLIP = 3.0  # standard deviations: more teaches no more
_WILD = 8.0  # … of the noise's tails, which say how far a healthy member goes
_LIMIT_SPREADS = 6.0  # from the middle, of those that always stood there: nobody among thousands in a bell
_LIMIT_FEW = 500.0  # … by the size squared more: the spread of 4, 8, 16 is estimated so badly that one group in a
# thousand has a member 35, 13, 7 of them away (simulated)
_LIMIT_SAMPLES = 2  # in a row


class PeerGroups(NamedTuple):
    """n members, sorted by rule, group and host.

    starts: int64[groups + 1], first row of each group. rules: int64[n], row of ``limits``, see ``rules.limits_of``.
    tags, hosts: int64[n], of each one's group and host, numbers below 2**24.
    """

    starts: NDArray[np.int64]
    rules: NDArray[np.int64]
    limits: NDArray[np.float64]
    tags: NDArray[np.int64]
    hosts: NDArray[np.int64]


class PeerValues(NamedTuple):
    """values: float64[n], turned so that more is worse. new: bool[n], rows that bring a sample.
    rows: int64[n], rows of the state.
    """

    values: NDArray[np.float64]
    new: NDArray[np.bool_]
    rows: NDArray[np.int64]


class Learning(NamedTuple):
    """alpha: weight of a new sample in what is usual. follow: samples after which a new place is the usual one."""

    alpha: float
    follow: int


class Bounds(NamedTuple):
    """most: difference that is unlike its peers even where it was always so. alarm: sum at which a member is named."""

    most: float
    alarm: float


@compiled
def compare(
    grouped: PeerGroups,
    given: PeerValues,
    state: NDArray[np.float32],
    learning: Learning,
    score: NDArray[np.float64],
    normal: NDArray[np.float64],
) -> None:
    """Judges and learns the members of all groups.

    state: float32[rows, 9], all zero for a new series.
    score: float64[n] out, 1.0 = named, NaN in groups that rest. normal: float64[n] out, the value that it should have.
    """
    starts, rules, limits, groups, hosts = grouped
    values, new, state_rows = given
    alpha, follow = learning
    for g in range(starts.size - 1):
        start, end = starts[g], starts[g + 1]
        rule, y = limits[rules[start]], values[start:end]
        floor, effect_min, n = rule[FLOOR], rule[LEAST], end - start
        centre = np.median(y)
        score[start:end], normal[start:end] = 0.0, np.nan
        if rule[WORSE] * centre < rule[BUSY]:
            score[start:end] = np.nan
            continue
        if n < MEMBERS_MIN:
            continue
        rows, at_host = state_rows[start:end], hosts[start:end]
        _renew(state, rows, groups[start])
        members = state[rows]
        seen, known = members[:, COUNT] > 0.0, members[:, COUNT] >= WARMUP
        at, usual = y - centre, members[:, USUAL].astype(np.float64)
        # The group's middle may have jumped from one mode to the other: what is usual is kept against the old one.
        if seen.any():
            at -= np.median((at - usual)[seen])
        usual = np.where(seen, usual, at)
        upper = usual > boundary(usual, floor, effect_min)
        everyone = np.ones(n, np.bool_)
        rest = at - usual
        rest -= _by_kind(rest, upper, everyone)  # without what a kind does together
        if rule[WHOLE] == 0.0:
            rest -= _by_host(rest, at_host)
        noise = floor
        if known.any():
            noise = max(noise, _SIGMA_PER_DEVIATION * members[known, NOISE].mean())
            noise = max(noise, members[known, WANDER].mean() ** 0.25)
        # Many odd ones on one side pull the middle towards them, and seem to be noise: both are taken without them.
        near = np.abs(rest) <= _CLIP * max(noise, _DOUBT * mad_scale(rest[rest <= 0.0]))
        rest -= _by_kind(rest, upper, near)
        noise = max(noise, _DOUBT * mad_scale(rest[near]))
        place = _by_kind(usual, upper, everyone)  # the middle of each member's kind
        most = max(rule[LIMIT], (_LIMIT_SPREADS + _LIMIT_FEW / (n * n)) * max(floor, mad_scale(usual - place)))
        alarm = math.log(2.0 * _SLACK * _SLACK * _QUIET_SAMPLES * n) / (2.0 * _SLACK) - _OVERSHOOT
        sudden = rest > (_SLACK + _HOST_SHARE * alarm) * noise
        common = _by_host(rest, at_host) if sudden.any() else np.zeros(n)
        for i in range(n):
            row, offset = state[rows[i]], usual[i] - place[i]
            if new[start + i]:
                own = max(noise, _DOUBT * _SIGMA_PER_DEVIATION * row[NOISE], _DOUBT * row[WANDER] ** 0.25)
                if known[i]:
                    share = _HOST_SHARE if 2.0 * common[i] > rest[i] else _STEP_SHARE
                    unsure = own * math.sqrt(1.0 + _SUMMED / row[COUNT])
                    step = min(rest[i] / unsure - _SLACK, share * alarm)
                    row[SUM] = min(max(0.0, row[SUM] + step), _SUM_MAX * alarm)
                row[EFFECT] = rest[i] if row[RUN] == 0.0 else row[EFFECT] + _NEWEST * (rest[i] - row[EFFECT])
                row[RUN] = row[RUN] + 1.0 if row[SUM] > 0.0 or offset + rest[i] > most else 0.0
            score[start + i] = min(row[SUM] / alarm, row[EFFECT] / effect_min)
            normal[start + i] = y[i] - rest[i]
            odd = (offset + row[DRIFT]) / most
            if row[RUN] >= _LIMIT_SAMPLES and odd > score[start + i]:
                score[start + i], normal[start + i] = odd, y[i] - rest[i] - offset
            if new[start + i]:
                _learn(row, at[i], place[i], rest[i], own, alpha, Bounds(most, alarm))
                if row[SUM] >= alarm and row[RUN] >= follow:
                    row[COUNT] = row[SUM] = row[RUN] = row[DRIFT] = 0.0


@compiled
def _renew(state: NDArray[np.float32], rows: NDArray[np.int64], group: int) -> None:
    """A member that comes from another group starts again from zero; one that was away only goes on."""
    for row in rows:
        if state[row, GROUP] != group:
            state[row, :] = 0.0
            state[row, GROUP] = group


@compiled
def _learn(
    row: NDArray[np.float32], at: float, place: float, rest: float, own: float, alpha: float, bounds: Bounds
) -> None:
    """One more sample of a member. at: its distance from the group's median. rest: what nothing explains of it."""
    most, alarm = bounds
    row[COUNT] = min(row[COUNT] + 1.0, 1e6)
    weight = max(alpha, 1.0 / row[COUNT])
    if row[COUNT] <= WARMUP:
        row[USUAL] += weight * (min(max(at, place - most), place + most) - row[USUAL])
    elif row[SUM] < _LEARN_BELOW * alarm:
        row[USUAL] += weight * min(max(rest, -_CLIP * own), _CLIP * own)
        row[USUAL] = min(max(row[USUAL], place - most), place + most)
    if row[COUNT] == 1.0:
        return  # one sample has no spread
    weight = max(alpha, 1.0 / (row[COUNT] - 1.0))
    # Noise with a memory does not cancel out in sums: the running mean of the samples tells. Its fourth power is three
    # times that of the standard deviation in a bell, and more where tails are heavy.
    row[DRIFT] += _DRIFT * (rest - row[DRIFT])
    if row[SUM] < _CALM_BELOW * alarm:
        row[NOISE] += weight * (min(abs(rest), _CLIP * own) - row[NOISE])
        row[WANDER] += weight * (min(_DRIFT_TIMES * abs(row[DRIFT]), _WILD * own) ** 4 / 3.0 - row[WANDER])


@compiled
def _by_kind(values: NDArray[np.float64], upper: NDArray[np.bool_], of: NDArray[np.bool_]) -> NDArray[np.float64]:
    """The middle of each row's mode, over the rows ``of``; 0 for a mode without any."""
    middles, room = np.zeros(2), np.empty(values.size)
    for kind in range(2):
        count = 0
        for i in range(values.size):
            if of[i] and upper[i] == (kind == 1):
                room[count] = values[i]
                count += 1
        if count:
            middles[kind] = np.median(room[:count])
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
