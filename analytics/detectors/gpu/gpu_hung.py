"""Hung GPU: it reports that a kernel runs all the time, but computes nothing, and is unlike those that wait for it.

The peers of a hung GPU spin in the collective, which is busy and computes nothing, too. On a recorded H100 they draw
hardly more: 123 W where a kernel hangs, 129 W where 24 blocks poll (docs/simulator/h100.md). What differs is how many
SMs are occupied: NCCL polls with a block a channel, a kernel that is stuck holds its own blocks. So in a job that was
shown to work in lockstep, and of which hardly a GPU computes, the hung one has far fewer SMs active than its peers, or
draws clearly less at the same clock: at a lower clock it draws less while it polls like the others. In other jobs
nobody waits, and a small kernel that runs for minutes is no fault: only a GPU that is alone in its job, or in none, is
judged, by its own past. Where no job is known, GPUs of one host that hang together are taken as one job that waits: one
kernel that hangs does not hang its neighbours.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.jobs.lockstep import coherence_evidence
from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.models.group_medians import group_medians
from analytics.models.jobs.sending import Sending
from analytics.snapshot.block import Migration
from analytics.snapshot.stateful import State
from analytics.state.lookup import lookup
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind

_BUSY_MIN = 0.95
_TENSOR_MAX, _SM_MAX = 0.02, 0.2  # an NCCL kernel that waits keeps an eighth of the SMs active, and no tensor core
_WORKING_MIN = 0.3  # of the SMs: then its power is its working level
_POWER_SHARE = 0.5  # of its own working level: idle power and leakage, at boost clocks
_PEERS_SHARE = 0.8  # of the job's median: silicon differs by a few per cent
_CLOCK_SHARE = 0.95  # of the job's median: below that a GPU draws less for its clock alone
_SM_SHARE = 0.5  # of the job's median: peers run the same collective, with the same number of blocks
_SM_LEAST = 0.001  # less is none
_SCORE_MAX = 100.0
# Half a minute, less what collections jitter by: no step of a healthy job waits so long inside a kernel, and NCCL's own
# watchdog needs ten. How active SMs were is an average over the collection interval (DCGM, profiling metrics), so the
# first value that shows it says so of the time since the one before: one where GPUs are read every half a minute.
_LASTS_S = 29.0
# One collection, where the hosts of its job send nothing meanwhile for longer than the job has ever been silent by
# itself: the job has shown then what a step of it is.
_SILENT_LASTS_S = 9.0
_NEARLY = 0.99


@dataclass(frozen=True, kw_only=True)
class GpuHung(Detector):
    """Judges each GPU that reports how active its SMs or tensor cores are, where its premise holds."""

    name: str = "gpu_hung"
    kind: FindingKind = FindingKind.GPU_HUNG
    metrics: tuple[str, ...] = (
        "gpu_power_watts",
        "gpu_utilization_ratio",
        "gpu_tensor_active_ratio",
        "gpu_sm_active_ratio",
        "gpu_sm_clock_hertz",
    )
    scope: Scope = Scope.CLUSTER
    clear_intervals: float = 1.0
    memory: tuple[MemoryColumn, ...] = (*LEVEL, MemoryColumn("hangs_s"))
    memory_format: int = 2
    memory_migrations: Mapping[int, Migration] = field(default_factory=lambda: {1: _from_format_1}, hash=False)

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        power = view.column(self.metrics[0])
        busy, tensor, sm, clock = (_beside(view.column(metric), power) for metric in self.metrics[1:])
        active = np.fmax(tensor / _TENSOR_MAX, sm / _SM_MAX)  # NaN where neither is known
        working = np.where(np.fmax(tensor, sm) >= _WORKING_MIN, power.values, np.nan)
        usual = learned_level(view, memory, power, working)  # what each GPU draws while it works
        idle = np.minimum(busy / _BUSY_MIN, np.where(active < 1.0, 1.0, 0.0))
        job = view.topology_index.job[power.objects]
        with np.errstate(divide="ignore", invalid="ignore"):
            own = _POWER_SHARE * usual / power.values
            odd = np.where(
                _is_alone(job), np.where(_computes(view, power), own, 0.0), _unlike(view, power, own, active, sm, clock)
            )
        score = np.where(idle >= 1.0, np.nan_to_num(odd, posinf=_SCORE_MAX), 0.0)
        score = np.where(_waits_with_others(job, view.index.device_objects[power.targets], score >= 1.0), 0.0, score)
        rows = np.flatnonzero(power.fresh & ~np.isnan(busy) & ~np.isnan(active))
        shown = power.only(rows)
        evidence = EvidenceColumns(shown.sids, shown.values, usual[rows])
        since_s = _since(memory, shown, score[rows] >= 1.0)
        lasts_s = shown.times_ns / 1e9 - since_s + np.nan_to_num(view.cadence_s[shown.sids])
        lasts = (lasts_s >= _LASTS_S) | (np.minimum(lasts_s, _silent_s(view)[job[rows]]) >= _SILENT_LASTS_S)
        score = np.where(lasts, score[rows], np.minimum(score[rows], _NEARLY))
        coherent = coherence_evidence(view, view.derived.classes.lockstep_job[shown.objects])
        onsets_ns = np.round(since_s * 1e9).astype(np.int64)
        return [Verdicts(shown.objects, shown.times_ns, score >= 1.0, score, (evidence, coherent), 0.8, onsets_ns)]


def _since(memory: Memory, shown: Column, hangs: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Since which sample in a row each GPU hangs, seconds; the newest one of those that do not."""
    rows, newest_s = memory.rows(shown.sids), shown.times_ns / 1e9
    since_s = np.where(hangs & (memory["hangs_s"][rows] > 0.0), memory["hangs_s"][rows], newest_s)
    memory["hangs_s"][rows] = np.where(hangs, since_s, 0.0)
    return since_s


def _silent_s(view: TickView) -> NDArray[np.float64]:
    """float64[jobs + 1]: for how many seconds each job has sent nothing, NaN where that is usual or not known, and of
    no job."""
    return np.array([*(sending.silent_s for sending in _traffic(view)), np.nan])


def _traffic(view: TickView) -> Iterator[Sending]:
    """What each job sends; nothing is known of some."""
    return (view.derived.traffic.get(job.job_id, Sending()) for job in view.topology_index.jobs)


def _from_format_1(state: State) -> State:
    """Format 1 counted samples outside of its memory: nothing has hung yet."""
    return State(state.head, {**state.arrays, "hangs_s": np.zeros(state.arrays["sid"].size)})


def _unlike(
    view: TickView,
    power: Column,
    own: NDArray[np.float64],
    active: NDArray[np.float64],
    sm: NDArray[np.float64],
    clock: NDArray[np.float64],
) -> NDArray[np.float64]:
    """How unlike the others of a job that waits each GPU is, 1.0 from where it hangs; 0 where the others compute.

    own: the same by its own usual power. active: of what counts as computing. clock: NaN where it is not known.
    """
    groups = _waiting_groups(view, power.objects)
    by_power = np.minimum(own, _PEERS_SHARE * group_medians(groups, power.values) / power.values)
    by_power = np.where(clock < _CLOCK_SHARE * group_medians(groups, clock), 0.0, by_power)
    by_sm = _SM_SHARE * group_medians(groups, sm) / np.maximum(sm, _SM_LEAST)
    wait = (groups >= 0) & (group_medians(groups, active) < 1.0)
    return np.where(wait, np.fmax(by_power, by_sm), 0.0)


def _waiting_groups(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.int64]:
    """int64[k]: job of each GPU whose peers would wait for it, -1 of others: in lockstep, or once all of them poll and
    send nothing for longer than ever, as those of a rollout do when one of them never gets done."""
    lockstep, job = view.derived.classes.lockstep_job[objects], view.topology_index.job[objects]
    hangs = np.array([*(not np.isnan(sending.hangs_s) for sending in _traffic(view)), False])
    return np.where((lockstep < 0) & hangs[job], job, lockstep)


def _is_alone(job: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether no other GPU works for the same job."""
    _, at, sizes = np.unique(job, return_inverse=True, return_counts=True)
    return np.asarray((job < 0) | (sizes[at] == 1))


def _waits_with_others(job: NDArray[np.int64], hosts: NDArray[np.int64], hangs: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """bool[k]: GPUs of no known job that hang with others of their host: they are one job, and it waits for something.

    hosts: int64[k], object number of the host of each GPU.
    """
    alike = hangs & (job < 0)
    return np.asarray(alike & (np.bincount(hosts[alike], minlength=int(hosts.max(initial=0)) + 1)[hosts] > 1))


def _computes(view: TickView, power: Column) -> NDArray[np.bool_]:
    """bool[k]: whether each GPU has computed most of the time so far."""
    levels = [_about(view.column(metric), power) for metric in ("gpu_tensor_active_ratio", "gpu_sm_active_ratio")]
    return np.asarray(np.fmax(*levels) >= _WORKING_MIN)


def _about(column: Column, power: Column) -> NDArray[np.float64]:
    return np.append(column.level, np.nan)[lookup(column.objects, power.objects)]


def _beside(column: Column, power: Column) -> NDArray[np.float64]:
    """The values of the same GPUs, NaN where there is no fresh one."""
    return column.only(column.fresh).about(power.objects)
