"""Peers: members of one job, rail, role, leaf or file system that move away from the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.general.peer_members import members
from analytics.detectors.jobs import power_cap
from analytics.detectors.jobs.lockstep import coherence_evidence, lockstep_groups, paused, works_longer
from analytics.detectors.jobs.power_cap import explains_longer_work, power_capped
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.models.peers.compare import Learning, PeerGroups, PeerValues, compare, forget_sums, run_lengths
from analytics.models.peers.member import WIDTH
from analytics.models.peers.rules import SLOWING, SUPPORTING, Rule
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.quality import FRESH
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_LEAST = min(rule.effect for rule in SLOWING)
_HORIZON_SAMPLES_MIN = 100  # collections may be minutes apart; a scale from a dozen samples gives false alarms


@dataclass(frozen=True, kw_only=True)
class Peers(Detector):
    """Judges by ``models.peers.compare``, which has the persistence; the strongest metric is the evidence.

    lockstep: names only GPUs of jobs that were shown to work in lockstep; it learns the others too.
    """

    rules: tuple[Rule, ...]
    confidence: float
    lockstep: bool = False
    scope: Scope = Scope.CLUSTER
    memory: tuple[MemoryColumn, ...] = (MemoryColumn("place", WIDTH, "f4", ("interval_s",)), MemoryColumn("named"))
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column, score, normals, run, worse = _compared(view, memory, self.rules)
        if self.lockstep:
            groups = lockstep_groups(view)[column.objects]
            score = np.where((groups >= 0) | np.isnan(score), score, 0.0)
            hosts = view.index.device_objects[column.targets]
            with np.errstate(invalid="ignore"):
                deficit = np.where(column.values < normals, 1.0 - column.values / normals, 0.0)
            score = np.where(works_longer(view, column.objects, hosts, deficit), score, 0.0)
            longer = column.values > normals
            score[longer & explains_longer_work(view, column.objects, groups)] = 0.0
            # A sum outlives its samples: nobody is named first by one that shows nothing any more.
            score[(memory["named"][memory.rows(column.sids)] == 0.0) & (worse < _LEAST)] = 0.0
        memory["named"][memory.rows(column.sids)] = score >= 1.0
        rows = np.flatnonzero((score >= 1.0) | (column.watched & ~np.isnan(score)))  # the others need no verdict
        rows = rows[worst_of_each(column.objects[rows], score[rows])]
        worst, score = column.only(rows), score[rows]
        onsets_ns = worst.times_ns - np.maximum(run[rows] - 1, 0) * view.config.interval_ns
        evidence = [EvidenceColumns(worst.sids, worst.values, normals[rows])]
        if self.lockstep:
            evidence.append(coherence_evidence(view, groups[rows]))
        breached = score >= 1.0
        return [Verdicts(worst.objects, worst.times_ns, breached, score, (*evidence,), self.confidence, onsets_ns)]


def slow_peers() -> Peers:
    """GPUs that make their job wait."""
    return replace(_peers("peers_slow", FindingKind.STRAGGLER, SLOWING, 0.85), lockstep=True)


def deviating_peers() -> Peers:
    """Anything else that is unlike its peers: it supports other evidence and is weak alone."""
    return _peers("peers_odd", FindingKind.DEVIATION, SUPPORTING, 0.3)


def _peers(name: str, kind: FindingKind, rules: tuple[Rule, ...], confidence: float) -> Peers:
    metrics = (*(rule.metric for rule in rules), "gpu_utilization_ratio", power_cap.SECONDS, power_cap.ACTIVE)
    return Peers(name=name, kind=kind, rules=rules, confidence=confidence, metrics=metrics)


def _compared(
    view: TickView, memory: Memory, rules: Sequence[Rule]
) -> tuple[Column, NDArray[np.float64], NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    """The fresh members at work; of each the score, its normal value, for how many samples it has been unlike its
    peers, and how far the newest is on the worse side of normal, in the units of ``Rule.effect``. NaN where its group
    is idle.
    """
    known, config = view.per_topology(members)[tuple(rules)], view.config
    working = view.derived.working_job[known.objects] >= 0
    rests = known.is_momentary & (~working | paused(view, known.objects))
    at_work = ~known.of_job | (working & ~rests)
    at_work &= ~(known.is_clock & power_capped(view, known.objects))
    fresh = view.quality[known.sids] == FRESH
    rows = np.flatnonzero(at_work & fresh)
    column, keys = Column(view, known.sids[rows]), known.keys[rows]
    turned = known.turned(rows, column.values)
    score, normals = np.zeros(rows.size), np.full(rows.size, np.nan)
    all_rows = memory.rows(known.sids)
    state_rows = all_rows[rows]
    # A clock is read at one moment: before a pause the newest may be that of a GPU at rest. What is known stays known.
    forget_sums(memory["place"], all_rows[rests & fresh & (memory["named"][all_rows] == 0.0)])
    starts = np.append(np.flatnonzero(np.diff(keys, prepend=0)), keys.size)
    compare(
        PeerGroups(starts, known.rules[rows], known.limits, known.tags[rows], known.hosts[rows]),
        PeerValues(turned, column.new, state_rows, view.reported.take(column.sids)),
        memory["place"],
        Learning(
            min(1.0 / _HORIZON_SAMPLES_MIN, config.interval_s / config.baseline_horizon_s),
            max(2, round(config.baseline_follow_s / config.interval_s)),
        ),
        score,
        normals,
    )
    runs = run_lengths(memory["place"])[state_rows]
    return column, score, known.in_units(rows, normals), runs, turned - normals


def _from_format_1(state: State) -> State:
    """Format 1 did not say who is named: it is known again with the next sample at work."""
    return State(state.head, {**state.arrays, "named": np.zeros(len(state.arrays["sid"]))})
