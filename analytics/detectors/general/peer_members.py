"""Which series are compared, in the order of comparison; the same until series or topology change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.models.peers.rules import SLOWING, SUPPORTING, Rule, limits_of
from analytics.view.tick_view import TickView


@dataclass(frozen=True)
class Members:
    """k series, by rule, group, variant and host.

    sids, objects, hosts, tags: int64[k], series, what it is about, its target, and its group's permanent number.
    keys: int64[k], ascending, one for each rule, group and variant. rules: int64[k], row of ``limits``.
    of_job: bool[k], whether only GPUs at work are compared. is_clock: bool[k], whether only GPUs that the power limit
    leaves alone are. is_momentary: bool[k], whether a GPU with nothing to do at the moment of the reading has another
    value. worse, least: float64[k], as in ``Rule``; least is 0 for differences.
    """

    sids: NDArray[np.int64]
    objects: NDArray[np.int64]
    hosts: NDArray[np.int64]
    tags: NDArray[np.int64]
    keys: NDArray[np.int64]
    rules: NDArray[np.int64]
    of_job: NDArray[np.bool_]
    is_clock: NDArray[np.bool_]
    is_momentary: NDArray[np.bool_]
    worse: NDArray[np.float64]
    least: NDArray[np.float64]
    limits: NDArray[np.void]

    def turned(self, rows: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Values of these rows so that more is worse: logarithms where they are compared by ratio."""
        least = self.least[rows]
        logs = np.log(np.maximum(values, np.where(least > 0.0, least, 1.0)))
        return np.asarray(self.worse[rows] * np.where(least > 0.0, logs, values))

    def in_units(self, rows: NDArray[np.int64], turned: NDArray[np.float64]) -> NDArray[np.float64]:
        """The inverse of ``turned``."""
        values = self.worse[rows] * turned
        return np.where(self.least[rows] > 0.0, np.exp(np.minimum(values, 700.0)), values)


def members(view: TickView) -> Mapping[tuple[Rule, ...], Members]:
    """The members of each detector's rules."""
    return {rules: _members(view, rules) for rules in (SLOWING, SUPPORTING)}


def _members(view: TickView, rules: Sequence[Rule]) -> Members:
    columns = view.index.columns
    parts = [_of_rule(view, rule) for rule in rules]
    sids = np.concatenate([part[0] for part in parts])
    of = np.repeat(np.arange(len(rules)), [part[0].size for part in parts])
    groups, tags = np.concatenate([part[1] for part in parts]), np.concatenate([part[2] for part in parts])
    hosts, variants = columns["target"][sids].astype(np.int64), columns["variant"][sids]
    order = np.lexsort((hosts, variants, groups, of))
    starts = [np.diff(each[order], prepend=-1) != 0 for each in (of, groups, variants)]
    keys = np.cumsum(np.logical_or.reduce(starts))
    sids, of = sids[order], of[order]
    return Members(
        sids=sids,
        objects=columns["object"][sids],
        hosts=hosts[order],
        tags=tags[order],
        keys=keys,
        rules=of,
        of_job=np.array([rule.group == "job" for rule in rules])[of],
        is_clock=np.array([rule.metric == "gpu_sm_clock_hertz" for rule in rules])[of],
        is_momentary=np.array([rule.group == "job" and rule.metric.endswith("_clock_hertz") for rule in rules])[of],
        worse=np.array([rule.worse for rule in rules])[of],
        least=np.array([rule.least or 0.0 for rule in rules])[of],
        limits=limits_of(rules),
    )


def _of_rule(view: TickView, rule: Rule) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Series, group and group's tag of all that are in a group."""
    grouping = view.topology_index.groups[rule.group]
    sids = view.column(rule.metric, rule.selector).sids
    groups = grouping.of[view.index.columns["object"][sids]]
    sids, groups = sids[groups >= 0], groups[groups >= 0]
    return sids, groups, grouping.tags[groups]
