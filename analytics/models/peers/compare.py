"""The peer comparison: which members are outliers of their group, for how long, and by how much.

Each member has a usual offset from the median of its group, learned slowly. What counts is how far it has left that
offset, against the median of its own kind at the same moment, so a group that changes together has no outlier. These
residuals add up over samples (CUSUM) in units of the noise that remains, however far apart the members usually are, so
that a small effect is found later than a large one and no single sample names a member.

Source: Page (1954), Continuous inspection schemes; limit by Siegmund's (1985) approximation of the time between false
alarms.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.peers.member import (
    HOST_SHARE,
    MEMBER,
    SLACK,
    Bounds,
    add_sample,
    forget_run,
    join,
    learn,
    own_sigma,
)
from analytics.models.peers.modes import mad_scale
from analytics.models.peers.residuals import median_by_host, residuals_of
from analytics.models.peers.rules import RuleLimits
from common.jit import compiled

MEMBERS_MIN = 4
_QUIET_SAMPLES = 260_000.0  # of each group between two false alarms: a month at ten seconds
_OVERSHOOT = 1.166  # standard deviations by which a sum passes its limit on average
_LIMIT_SCALES = 6.0  # from the median of the usual offsets: nobody among thousands in a normal distribution
_LIMIT_FEW = 500.0  # … by the size squared more: the scale of 4, 8, 16 is estimated so badly that one group in a
# thousand has a member 35, 13, 7 of them away (simulated)
_LIMIT_SAMPLES = 2  # in a row

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]


class PeerGroups(NamedTuple):
    """n members, sorted by rule, group and host.

    starts: int64[groups + 1], first row of each group. rules: int64[n], row of ``limits``, see ``rules.limits_of``.
    tags, hosts: int64[n], of each one's group and host, numbers below 2**24.
    """

    starts: Rows
    rules: Rows
    limits: NDArray[np.void]
    tags: Rows
    hosts: Rows


class PeerValues(NamedTuple):
    """values: float64[n], turned so that more is worse. new: bool[n], rows that bring a sample.
    rows: int64[n], rows of the state. reported: bool[n], those with a finding, whose offsets stay what they were.
    """

    values: Floats
    new: NDArray[np.bool_]
    rows: Rows
    reported: NDArray[np.bool_]


class Learning(NamedTuple):
    """alpha: weight of a new sample in the usual offset. follow: samples after which a new offset is the usual one."""

    alpha: float
    follow: int


def compare(
    grouped: PeerGroups,
    given: PeerValues,
    state: NDArray[np.float32],
    learning: Learning,
    score: Floats,
    normal: Floats,
) -> None:
    """Scores the members of all groups, then learns their samples.

    state: float32[rows, WIDTH], all zero for a new member.
    score: float64[n] out, 1.0 = named, NaN in idle groups. normal: float64[n] out, the value that it should have.
    """
    _compare(grouped, given, state.view(MEMBER)[:, 0], learning, score, normal)


def run_lengths(state: NDArray[np.float32]) -> NDArray[np.int64]:
    """int64[rows]: for how many samples in a row each member has been unlike its peers."""
    return state.view(MEMBER)["run"][:, 0].astype(np.int64)


def forget_sums(state: NDArray[np.float32], rows: Rows) -> None:
    """Begins the sums of some members again: the newest residual may be of no work. What they usually are stays."""
    members = state.view(MEMBER)[:, 0]
    for name in ("cusum", "run", "effect"):
        members[name][rows] = 0.0


@compiled
def _compare(
    grouped: PeerGroups,
    given: PeerValues,
    members: NDArray[np.void],
    learning: Learning,
    score: Floats,
    normal: Floats,
) -> None:
    starts, rules, limits, tags, all_hosts = grouped
    values, new, rows, reported = given
    for group in range(starts.size - 1):
        start, end = starts[group], starts[group + 1]
        rule, y, hosts = limits[rules[start]], values[start:end], all_hosts[start:end]
        score[start:end], normal[start:end] = 0.0, np.nan
        median = np.median(y)
        if rule.worse * median < rule.busy:
            score[start:end] = np.nan
            continue
        if end - start < MEMBERS_MIN:
            continue
        for row in rows[start:end]:
            join(members[row], tags[start])
        found = residuals_of(members[rows[start:end]], y - median, hosts, rule)
        bounds = bounds_of(found.usual - found.kinds, rule)
        common = np.zeros(end - start)
        if (found.residuals > (SLACK + HOST_SHARE * bounds.alarm) * found.noise).any():
            common = median_by_host(found.residuals, hosts)
        for i in range(end - start):
            member, residual = members[rows[start + i]], found.residuals[i]
            offset, sigma = found.usual[i] - found.kinds[i], own_sigma(member, found.noise)
            if new[start + i]:
                add_sample(member, residual, offset, sigma, common[i], found.known[i], bounds)
            score[start + i] = min(member.cusum / bounds.alarm, member.effect / rule.effect)
            normal[start + i] = y[i] - residual
            always = (offset + member.ewma) / bounds.limit
            if member.run >= _LIMIT_SAMPLES and always > score[start + i]:
                score[start + i], normal[start + i] = always, y[i] - residual - offset
            if new[start + i]:
                learn(member, found.at[i], found.kinds[i], residual, sigma, learning.alpha, bounds)
                if member.cusum >= bounds.alarm and member.run >= learning.follow and not reported[start + i]:
                    forget_run(member)


@compiled
def bounds_of(offsets: Floats, rule: RuleLimits) -> Bounds:
    """offsets: float64[n], usual distance of each member from the median of its kind."""
    n = offsets.size
    limit = max(rule.limit, (_LIMIT_SCALES + _LIMIT_FEW / (n * n)) * max(rule.floor, mad_scale(offsets)))
    return Bounds(limit, math.log(2.0 * SLACK * SLACK * _QUIET_SAMPLES * n) / (2.0 * SLACK) - _OVERSHOOT)
