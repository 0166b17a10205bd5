"""Peers: members of one job, rail, role, leaf or file system that leave their place among the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.base import Evidence, Verdicts
from analytics.peers.compare import RUN, compare
from analytics.peers.rules import SLOWING, SUPPORTING, Rule
from analytics.peers.working import working_jobs
from analytics.statistics.groups import group_medians
from analytics.view import Column, View, worst_of_each
from telemetry.findings import FindingKind


@dataclass(frozen=True)
class _Compared:
    """The members of one rule. normals: what each should be, in the metric's unit. run: samples since it left."""

    column: Column
    score: NDArray[np.float64]
    normals: NDArray[np.float64]
    run: NDArray[np.int64]


@dataclass(frozen=True)
class Peers:
    """Judges by ``analytics.peers.compare``, which has the persistence; the metric that says most is the evidence."""

    name: str
    kind: FindingKind
    rules: tuple[Rule, ...]
    confidence: float
    metrics: tuple[str, ...]
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        jobs = view.once(working_jobs)
        compared = [_compared(view, rule, jobs if rule.group == "job" else None) for rule in self.rules]
        column = view.joined([one.column for one in compared])
        score = np.concatenate([one.score for one in compared])
        rows = worst_of_each(column.objects, score)
        worst, score = column.only(rows), score[rows]
        normals = np.concatenate([one.normals for one in compared])[rows]
        run = np.concatenate([one.run for one in compared])[rows]
        onsets_ns = worst.times_ns - np.maximum(run - 1, 0) * view.config.interval_ns
        evidence = Evidence(worst.sids, worst.values, normals)
        return [Verdicts(worst.objects, worst.times_ns, score >= 1.0, score, (evidence,), self.confidence, onsets_ns)]


def slow_peers() -> Peers:
    """GPUs that make their job wait."""
    return Peers("peers_slow", FindingKind.STRAGGLER, SLOWING, 0.85, _metrics(SLOWING))


def odd_peers() -> Peers:
    """Whatever else is unlike its peers: it supports, and proves little by itself."""
    return Peers("peers_odd", FindingKind.DEVIATION, SUPPORTING, 0.3, _metrics(SUPPORTING))


def _metrics(rules: Sequence[Rule]) -> tuple[str, ...]:
    return (*(rule.metric for rule in rules), "gpu_utilization_ratio")


def _compared(view: View, rule: Rule, jobs: NDArray[np.int64] | None) -> _Compared:
    """jobs: of each object, where the rule is about those at work."""
    grouping = view.places.groups[rule.group]
    of = grouping.of if jobs is None else jobs
    column = view.column(rule.metric, rule.accept) if (of >= 0).any() else view.joined([])
    column = column.only(np.flatnonzero(of[column.objects] >= 0))
    column = column.only(column.fresh)
    column, groups, keys = _in_order(view, column, of[column.objects])
    at_work = group_medians(keys, column.values) >= rule.busy
    column, groups, keys = column.only(at_work), groups[at_work], keys[at_work]
    starts = np.concatenate([np.flatnonzero(np.diff(keys, prepend=-1)), [keys.size]])
    values = rule.worse * _scaled(column.values, rule)
    score, normals = np.zeros(len(column)), np.full(len(column), np.nan)
    config = view.config
    compare(
        starts,
        grouping.tags[groups],
        view.registry.columns["target"][column.sids].astype(np.int64),
        values,
        view.series["valued_ns"][column.sids] >= view.end_ns - config.tick_ns,
        column.sids,
        view.series["peers"],
        rule.floor,
        rule.effect,
        rule.limit,
        min(1.0, config.interval_s / config.baseline_horizon_s),
        max(2, round(config.baseline_follow_s / config.interval_s)),
        rule.whole,
        score,
        normals,
    )
    normals = rule.worse * normals if rule.least is None else np.exp(rule.worse * normals)
    return _Compared(column, score, normals, view.series["peers"][column.sids, RUN].astype(np.int64))


def _in_order(
    view: View, column: Column, groups: NDArray[np.int64]
) -> tuple[Column, NDArray[np.int64], NDArray[np.int64]]:
    """The rows by group, variant and host; the groups, and numbers of group and variant."""
    variants = view.registry.columns["variant"][column.sids]
    keys = groups * (1 + int(variants.max(initial=0))) + variants
    order = np.lexsort((column.targets, keys))
    return column.only(order), groups[order], keys[order]


def _scaled(values: NDArray[np.float64], rule: Rule) -> NDArray[np.float64]:
    return values if rule.least is None else np.log(np.maximum(values, rule.least))
