"""Clock held: a GPU at work stays below the clock that it has reached, and its driver gives no reason.

Where GPUs wait for each other ``straggler.py`` compares them. Those of a service, an evaluation or a rollout have work
of their own, so neither activity nor who waits says anything. But a GPU with kernels runs at its highest clock,
whatever its kernels are, unless power, heat or a setting lowers it, and the driver counts for how long each of these
does. So a clock that is the same low one whenever the GPU is read at work, without any of them, is a fault of the GPU.
A setting lowers the clocks of whole hosts, so most others of its host must reach theirs.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import Detector, EvidenceColumns, Scope, Verdicts
from analytics.models.group_medians import group_medians
from analytics.models.jobs.coherence import WorkClass
from analytics.state.lookup import worst_of_each
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.limits import STRAGGLER_CLOCK_SHARE

_RESTS = 0.4  # of the highest clock: an idle H100 has 345 of 1,980 MHz, and what is stuck so low looks like that
_SAME = 0.02  # between two readings: clocks that power or heat holds move by more
_READINGS, _ROUNDS = 3, 2.0  # at work in a row, over so many collections that say something new …
_RARELY_S = 29.0  # … or two of them where these are half a minute apart, less what they jitter by
_LIMITED_MAX = 0.01  # of the time, by any reason; see ``jobs/power_cap.py``
_OTHERS_MIN = 3  # of its host, read at work
_SHOWN_S = 180.0  # after the start of a job; steps show lockstep within a minute, work that is always the same later
_NEARLY = 0.99
Floats = NDArray[np.float64]


def at_work(labels: Mapping[str, str]) -> bool:
    return labels.get("reason") != "idle"  # for a part of the time, as between two requests


@dataclass(frozen=True, kw_only=True)
class GpuClockHeld(Detector):
    """Judges GPUs without a job, and those of jobs that have not shown to work in lockstep."""

    name: str = "gpu_clock_held"
    kind: FindingKind = FindingKind.GPU_THROTTLED
    metrics: tuple[str, ...] = ("gpu_sm_clock_hertz", "gpu_throttle_seconds_total", "gpu_throttle_active")
    scope: Scope = Scope.CLUSTER
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("share"),
        MemoryColumn("run"),
        MemoryColumn("since_ns", dtype="i8"),
        MemoryColumn("read_ns", dtype="i8"),
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        clock = view.column(self.metrics[0])
        clock = clock.only(clock.fresh & _by_itself(view, clock.objects))
        highest = view.series["highest"][clock.sids]
        share, run, since_ns = _readings(memory, clock, clock.values / highest, _limited(view, clock.objects))
        hosts = view.index.device_objects[clock.targets]
        others = np.bincount(hosts, share > 0.0, minlength=1)[hosts] - (share > 0.0)
        free = group_medians(hosts, np.where(share > 0.0, share, np.nan)) >= STRAGGLER_CLOCK_SHARE
        lasted_s = (clock.times_ns - since_ns) * 1e-9
        proved = (run >= _READINGS) & (lasted_s >= _ROUNDS * view.target_refresh_s[clock.targets])
        apart_s = np.fmax(view.target_refresh_s[clock.targets], view.cadence_s[clock.sids])
        proved |= (run >= _READINGS - 1) & (apart_s >= _RARELY_S)
        below = (1.0 - share) / (1.0 - STRAGGLER_CLOCK_SHARE)
        score = np.where(free & (others >= _OTHERS_MIN) & (run > 0.0), below, 0.0)
        score = np.where(proved, score, np.minimum(score, _NEARLY))
        evidence = EvidenceColumns(clock.sids, share * highest, highest)
        return [Verdicts(clock.objects, clock.times_ns, score >= 1.0, score, (evidence,), 0.8, since_ns)]


def _by_itself(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether nobody waits for a GPU in lockstep, as far as its job has shown: lockstep does so soon."""
    classes, young_ns = view.derived.classes.classes, view.end_ns - round(_SHOWN_S * 1e9)
    young = np.array([job.started_ns > young_ns for job in view.topology_index.jobs], np.bool_)
    by_itself = (classes != WorkClass.LOCKSTEP) & ~(young & (classes == WorkClass.UNKNOWN))
    return np.append(by_itself, True)[view.topology_index.job[objects]]


def _limited(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether the driver gives any reason for a low clock, or says nothing of reasons."""
    share = np.full(objects.size, np.nan)
    for column in (view.column("gpu_throttle_seconds_total", at_work), view.column("gpu_throttle_active")):
        column = column.only(column.fresh)
        share = np.fmax(share, column.only(worst_of_each(column.objects, column.values)).about(objects))
    return ~(share <= _LIMITED_MAX)


def _readings(
    memory: Memory, clock: Column, share: Floats, limited: NDArray[np.bool_]
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Of each GPU, by its readings at work without a limit: the newest share of its highest clock, 0 without any; how
    many in a row were low and the same; and when the first of these was."""
    rows = memory.rows(clock.sids)
    new = (clock.times_ns > memory["read_ns"][rows]) & (share >= _RESTS) & ~limited
    low, before = share < STRAGGLER_CLOCK_SHARE, memory["share"][rows]
    goes_on = low & (memory["run"][rows] > 0.0) & (np.abs(share - before) <= _SAME * share)
    first, at = new & low & ~goes_on, rows[new]
    memory["since_ns"][rows[first]] = clock.times_ns[first]
    memory["run"][at] = np.where(goes_on[new], memory["run"][at] + 1.0, low[new])
    memory["share"][at] = share[new]
    memory["read_ns"][rows] = clock.times_ns
    return memory["share"][rows], memory["run"][rows], memory["since_ns"][rows].astype(np.int64)
