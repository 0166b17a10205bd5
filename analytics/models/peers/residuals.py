"""What is unusual in the values of one group: without its median, its modes, its hosts and the usual offsets."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.models.peers.member import CLIP, FEW_VALUES, SIGMA_PER_DEVIATION, WARMUP
from analytics.models.peers.modes import boundary, mad_scale
from analytics.models.peers.rules import RuleLimits
from common.jit import compiled

Floats = NDArray[np.float64]


class Residuals(NamedTuple):
    """Of a group of n members. at: distance from the group's median; usual: the usual one; kinds: the median of that in
    each member's kind; residuals: what nothing explains. known: past warm-up. noise: standard deviation of residuals.
    """

    at: Floats
    usual: Floats
    kinds: Floats
    residuals: Floats
    known: NDArray[np.bool_]
    noise: float


@compiled
def residuals_of(members: NDArray[np.void], at: Floats, hosts: NDArray[np.int64], rule: RuleLimits) -> Residuals:
    """members: ``Member``[n], sorted by host. at: float64[n], distance from the group's median."""
    n = at.size
    seen, known, usual = np.zeros(n, np.bool_), np.zeros(n, np.bool_), np.zeros(n)
    for i in range(n):
        member = members[i]
        seen[i], known[i], usual[i] = member.count > 0.0, member.count >= WARMUP, member.usual
    # The group's median may have jumped from one mode to the other: usual offsets are relative to the old one.
    if seen.any():
        at = at - np.median((at - usual)[seen])
    usual = np.where(seen, usual, at)
    upper, everyone = usual > boundary(usual, rule.floor, rule.effect), np.ones(n, np.bool_)
    residuals = at - usual
    residuals -= median_by_kind(residuals, upper, everyone)  # without what a kind does together
    if rule.whole == 0.0:
        residuals -= median_by_host(residuals, hosts)
    noise = rule.floor
    if known.any():
        noise = max(noise, SIGMA_PER_DEVIATION * members["noise"][known].mean())
        noise = max(noise, members["ewma_fourth"][known].mean() ** 0.25)
    # Many outliers on one side pull the median towards them, and look like noise: both are taken without them.
    near = np.abs(residuals) <= CLIP * max(noise, FEW_VALUES * mad_scale(residuals[residuals <= 0.0]))
    residuals -= median_by_kind(residuals, upper, near)
    noise = max(noise, FEW_VALUES * mad_scale(residuals[near]))
    return Residuals(at, usual, median_by_kind(usual, upper, everyone), residuals, known, noise)


@compiled
def median_by_kind(values: Floats, upper: NDArray[np.bool_], of: NDArray[np.bool_]) -> Floats:
    """The median of each row's mode, over the rows ``of``; 0 for a mode without any. upper: bool[n], the row's mode."""
    medians, inside = np.zeros(2), np.empty(values.size)
    for kind in range(2):
        count = 0
        for i in range(values.size):
            if of[i] and upper[i] == (kind == 1):
                inside[count] = values[i]
                count += 1
        if count:
            medians[kind] = np.median(inside[:count])
    return np.asarray(np.where(upper, medians[1], medians[0]))


@compiled
def median_by_host(values: Floats, hosts: NDArray[np.int64]) -> Floats:
    """The median of each row's host, 0 where fewer than three rows share it or it is the only one.

    hosts: int64[n], rows of one host one after the other.
    """
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
