"""One member of a job writes its part of a checkpoint far slower than the others: they will wait for it.

All members write at once, each its own part, and go on together. What a host sends while its job stands still is what
it writes, whoever else uses the file system. So a member that sends a fraction of what the others do, and has done so
since the job stands still, makes the checkpoint late long before it is; one that is done has sent its part before.

The premises: the job was shown to work in lockstep, and stands still. Its hosts work for it alone, and send. And this
member has sent its part in an earlier checkpoint of this job: where one rank writes for all, the others never do. And
not all of them send alike: else they wait for a target that is slow for everybody, and who was read a few seconds
earlier in the checkpoint is no slower than the others.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.derived.job_traffic import RECEIVED, SENT, series_of_hosts
from analytics.derived.work_classes import job_tags
from analytics.detectors.jobs.lockstep import coherence_evidence, lockstep_jobs
from analytics.detectors.spec import Detector, Scope, Verdicts, computed_evidence
from analytics.models.group_medians import group_medians
from analytics.models.jobs.checkpoints import (
    ALIKE_TIMES,
    DONE_BYTES_PER_SECOND,
    LATE_TIMES,
    WRITES_BYTES_PER_SECOND,
)
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.series import series_key

_HOSTS_MIN = 2
# A checkpoint is late from twice its usual time on. Members of a healthy one differ, by the targets that their files
# lie on and who else uses these: what they differed by before is remembered, and as much again is left for what is new.
_SLOWER_TIMES = LATE_TIMES**2
# What is left of the others' rates when a collection has the end of a step in it and the next one has not: kernels
# exchange far more than a checkpoint writes. Then what was sent before is no part of the checkpoint.
_STEP_SHARE = 0.1
_ROUNDS = 2  # collections of all members in a row: not all of them begin in the same second
_KEPT = 8  # checkpoints
_NEARLY, _SCORE_MAX = 0.99, 100.0
Floats = NDArray[np.float64]


class Members(NamedTuple):
    """Hosts that work for one job alone, which has two of them at least; h rows.

    jobs: int64[h], position in ``TopologyIndex.jobs``; tags: int64[h], the permanent number of that job; names: of the
    hosts. nics: int64[h], how many series say what each one sends; first: int64[h], one of them. sids, of: int64[k],
    all of these series, and the row of each one's host.
    """

    jobs: NDArray[np.int64]
    tags: NDArray[np.int64]
    names: tuple[str, ...]
    nics: NDArray[np.int64]
    first: NDArray[np.int64]
    sids: NDArray[np.int64]
    of: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class CheckpointMember(Detector):
    """Judges each job that stands still, by the member that has sent least for what it usually does."""

    name: str = "checkpoint_member"
    kind: FindingKind = FindingKind.CHECKPOINT_LATE
    metrics: tuple[str, ...] = ("gpu_utilization_ratio", SENT, RECEIVED)
    scope: Scope = Scope.CLUSTER
    clear_intervals: float = 0.0
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("job"),
        MemoryColumn("pause_s"),
        MemoryColumn("seen_s"),
        MemoryColumn("sent"),
        MemoryColumn("sent_s"),
        MemoryColumn("round_s"),
        MemoryColumn("most"),
        MemoryColumn("goes_on"),
        MemoryColumn("least_share"),
        MemoryColumn("late"),
        MemoryColumn("alike"),
        MemoryColumn("learned"),
        MemoryColumn("shares", _KEPT),
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        members = view.per_topology(_members)
        rows = memory.rows(members.first)
        pause_s, stands = _pauses(view, members)
        _open(memory, rows, members, pause_s)
        _collect(view, memory, rows, members)
        whole = _add_rounds(memory, rows, members)
        most = np.where(memory["round_s"][rows] > 0.0, memory["most"][rows], np.nan)
        usual = group_medians(members.jobs, most)
        usual[~(usual >= WRITES_BYTES_PER_SECOND * members.nics)] = np.nan
        share = most / usual
        least = np.where(memory["learned"][rows] > 0, np.minimum(memory["shares"][rows].min(axis=1), 1.0), np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            slower = np.nan_to_num(np.minimum(least / share / _SLOWER_TIMES, _SCORE_MAX))
        slower = np.where(memory["alike"][rows] > 0.0, 0.0, slower)
        # Who is late stays so until the job goes on: in the end the others have nothing left to be compared with.
        late = memory["late"][rows]
        late = np.where(whole & (late < _ROUNDS), np.where(slower >= 1.0, late + 1.0, 0.0), late)
        memory["late"][rows] = late
        stands &= memory["goes_on"][rows] == 0.0
        score = np.where(stands, np.where(late >= _ROUNDS, np.maximum(slower, 1.0), np.minimum(slower, _NEARLY)), 0.0)
        memory["least_share"][rows] = np.fmin(share, memory["least_share"][rows])
        at_s = np.where(pause_s > 0.0, memory["round_s"][rows], memory["seen_s"][rows])
        return [_of_jobs(view, members, score, (most, least * usual), (at_s, pause_s))]


def _from_format_1(state: State) -> State:
    """Format 1 did not know whether members send alike: the next round says so."""
    return State(state.head, {**state.arrays, "alike": np.zeros(len(state.arrays["sid"]))})


def _pauses(view: TickView, members: Members) -> tuple[Floats, NDArray[np.bool_]]:
    """Of each host: since when its job has paused, seconds, 0 where it has not; whether it stands still."""
    size = len(view.topology_index.jobs)
    pause_s, stands = np.zeros(size), np.zeros(size, bool)
    for position, job in enumerate(view.topology_index.jobs):
        if (work := view.derived.jobs.get(job.job_id)) is not None:
            pause_s[position] = work.checkpoints.pause_ns / 1e9
            stands[position] = work.checkpoints.still_ns > 0
    pause_s[~lockstep_jobs(view)] = 0.0
    return pause_s[members.jobs], (stands & (pause_s > 0.0))[members.jobs]


def _open(memory: Memory, rows: NDArray[np.int64], members: Members, pause_s: Floats) -> None:
    """Begins a pause where there is a new one, and learns from the one before unless it was late."""
    other = memory["job"][rows] != members.tags
    for name in ("learned", "pause_s"):
        memory[name][rows[other]] = 0.0
    memory["job"][rows] = members.tags
    new = other | (memory["pause_s"][rows] != pause_s)
    share = memory["least_share"][rows]
    learns = new & (memory["pause_s"][rows] > 0.0) & ~np.isnan(share) & (memory["late"][rows] == 0.0)
    first = learns & (memory["learned"][rows] == 0.0)
    memory["shares"][rows[first]] = share[first, None]
    at = (memory["learned"][rows[learns]] % _KEPT).astype(np.int64)
    memory["shares"][rows[learns], at] = share[learns]
    memory["learned"][rows[learns]] += 1.0
    memory["least_share"][rows[new]] = np.nan
    for name in ("sent_s", "round_s", "most", "goes_on", "late", "alike"):
        memory[name][rows[new]] = 0.0
    memory["pause_s"][rows] = pause_s


def _collect(view: TickView, memory: Memory, rows: NDArray[np.int64], members: Members) -> None:
    """Takes what hosts sent in new collections that lie within the pause."""
    size, fresh = len(members.names), view.fresh[members.sids]
    of, sids = members.of[fresh], members.sids[fresh]
    at_s = np.zeros(size)
    np.maximum.at(at_s, of, view.series["value_ns"][sids] / 1e9)
    seen_s, pause_s = memory["seen_s"][rows], memory["pause_s"][rows]
    new = (np.bincount(of, minlength=size) == members.nics) & (at_s > seen_s)
    inside = new & (pause_s > 0.0) & (seen_s >= pause_s)
    memory["sent"][rows[inside]] = np.bincount(of, view.series["value"][sids], size)[inside]
    memory["sent_s"][rows[inside]] = at_s[inside]
    memory["seen_s"][rows[new]] = at_s[new]


def _add_rounds(memory: Memory, rows: NDArray[np.int64], members: Members) -> NDArray[np.bool_]:
    """Adds what members sent, once there is something new of every one of a job: at the begin and the end of a pause
    some have been read before and some after. bool[h], whether there was."""
    sent, sent_s, most = (memory[name][rows] for name in ("sent", "sent_s", "most"))
    whole = np.asarray(np.bincount(members.jobs, sent_s == 0.0)[members.jobs] == 0.0)
    memory["sent_s"][rows[whole]] = 0.0
    now, before = group_medians(members.jobs, sent), group_medians(members.jobs, most)
    fastest = np.zeros(int(members.jobs.max(initial=-1)) + 1)
    np.maximum.at(fastest, members.jobs, sent)
    counts = WRITES_BYTES_PER_SECOND * members.nics
    steps = _STEP_SHARE * fastest[members.jobs] > np.where(before > 0.0, before, now)
    memory["goes_on"][rows[whole & (before >= counts) & steps]] = 1.0
    whole &= ~steps & (memory["goes_on"][rows] == 0.0)
    ended = whole & (now >= counts) & (now < _STEP_SHARE * before)
    memory["least_share"][rows[ended]] = np.nan
    memory["most"][rows[whole]] = np.where(ended, sent, np.maximum(most, sent))[whole]
    memory["round_s"][rows[whole]] = sent_s[whole]
    alike = (sent <= ALIKE_TIMES * now) & (now <= ALIKE_TIMES * sent) & (now >= DONE_BYTES_PER_SECOND * members.nics)
    memory["alike"][rows[whole]] = alike[whole]
    return whole


def _of_jobs(
    view: TickView, members: Members, score: Floats, sent: tuple[Floats, Floats], times_s: tuple[Floats, Floats]
) -> Verdicts:
    """One verdict a job, that of its worst member. sent: bytes a second of each, and what is usual beside the others.
    times_s: of what was judged, 0 without anything, and the begin of the pause."""
    known = np.flatnonzero(times_s[0] > 0.0)
    at = known[worst_of_each(members.jobs[known], score[known])]
    jobs = [view.topology_index.jobs[position].job_id for position in members.jobs[at].tolist()]
    numbers = np.array([view.index.object_number(objects.job(name)) for name in jobs], np.int64)

    def key(row: int) -> str:
        return series_key("checkpoint_sent", {"job_id": jobs[row], "device": members.names[at[row]]})

    shown = computed_evidence(sent[0][at], sent[1][at], "bytes/s", key)
    coherence = coherence_evidence(view, members.jobs[at])
    score, cadence_s = score[at], view.cadence_s[members.first[at]]
    times_ns, onsets_ns = (np.round(each[at] * 1e9).astype(np.int64) for each in times_s)
    return Verdicts(numbers, times_ns, score >= 1.0, score, (shown, coherence), 0.8, onsets_ns, cadence_s)


def _members(view: TickView) -> Members:
    """By name: once for a topology."""
    sids_of = view.per_physical(series_of_hosts)
    jobs = view.topology_index.jobs
    users = Counter(host for job in jobs for host in set(job.nodes))
    found = [
        (position, host)
        for position, job in enumerate(jobs)
        if len(set(job.nodes)) >= _HOSTS_MIN and all(host in sids_of and users[host] == 1 for host in job.nodes)
        for host in sorted(set(job.nodes))
    ]
    nics = np.array([len(sids_of[host]) for _, host in found], np.int64)
    positions = np.array([position for position, _ in found], np.int64)
    return Members(
        jobs=positions,
        tags=job_tags(view, positions),
        names=tuple(host for _, host in found),
        nics=nics,
        first=np.array([min(sids_of[host]) for _, host in found], np.int64),
        sids=np.array([sid for _, host in found for sid in sids_of[host]], np.int64),
        of=np.repeat(np.arange(len(found)), nics),
    )
