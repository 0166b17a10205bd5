"""Peers: members of one job, rail, role, leaf or file system that leave their place among the others."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Evidence, Verdicts
from analytics.jobs.working import working_jobs
from analytics.models.peers.compare import RUN, compare
from analytics.models.peers.members import members
from analytics.models.peers.rules import SLOWING, SUPPORTING, Rule
from analytics.state.view import FRESH, Column, View, worst_of_each
from telemetry.findings import FindingKind


@dataclass(frozen=True)
class Peers:
    """Judges by ``models.peers.compare``, which has the persistence; the metric that says most is the evidence."""

    name: str
    kind: FindingKind
    rules: tuple[Rule, ...]
    confidence: float
    metrics: tuple[str, ...]
    persist: int = 1
    sure: float = math.inf
    clear_intervals: float = 3.0

    def judge(self, view: View) -> list[Verdicts]:
        column, score, normals = _compared(view, self.rules)
        rows = np.flatnonzero((score >= 1.0) | (column.watched & ~np.isnan(score)))  # nobody waits for the others
        rows = rows[worst_of_each(column.objects[rows], score[rows])]
        worst, score = column.only(rows), score[rows]
        run = view.series["peers"][worst.sids, RUN].astype(np.int64)
        onsets_ns = worst.times_ns - np.maximum(run - 1, 0) * view.config.interval_ns
        evidence = Evidence(worst.sids, worst.values, normals[rows])
        return [Verdicts(worst.objects, worst.times_ns, score >= 1.0, score, (evidence,), self.confidence, onsets_ns)]


def slow_peers() -> Peers:
    """GPUs that make their job wait."""
    return Peers("peers_slow", FindingKind.STRAGGLER, SLOWING, 0.85, _metrics(SLOWING))


def odd_peers() -> Peers:
    """Whatever else is unlike its peers: it supports, and proves little by itself."""
    return Peers("peers_odd", FindingKind.DEVIATION, SUPPORTING, 0.3, _metrics(SUPPORTING))


def _metrics(rules: Sequence[Rule]) -> tuple[str, ...]:
    return (*(rule.metric for rule in rules), "gpu_utilization_ratio")


def _compared(view: View, rules: tuple[Rule, ...]) -> tuple[Column, NDArray[np.float64], NDArray[np.float64]]:
    """The fresh members at work; the score of each and the value that it should have, NaN where its group rests."""
    known, config = view.of_places(members)[rules], view.config
    at_work = ~known.of_job | (view.once(working_jobs)[known.objects] >= 0)
    rows = np.flatnonzero(at_work & (view.trust[known.sids] == FRESH))
    column, keys = Column(view, known.sids[rows]), known.keys[rows]
    score, normals = np.zeros(rows.size), np.full(rows.size, np.nan)
    compare(
        np.append(np.flatnonzero(np.diff(keys, prepend=0)), keys.size),
        known.rules[rows],
        known.limits,
        known.tags[rows],
        known.hosts[rows],
        known.turned(rows, column.values),
        view.series["valued_ns"][column.sids] >= view.end_ns - config.tick_ns,
        column.sids,
        view.series["peers"],
        min(1.0, config.interval_s / config.baseline_horizon_s),
        max(2, round(config.baseline_follow_s / config.interval_s)),
        score,
        normals,
    )
    return column, score, known.in_units(rows, normals)
