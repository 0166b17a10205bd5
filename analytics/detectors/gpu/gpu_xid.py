"""XID: the NVIDIA driver reported an error of a GPU.

Errors by which it blames the program are ``program_error``. But where one GPU has them with one program after the
other, and the other GPUs do not, it is the GPU.
"""

import hashlib
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.gpu import nvlink_lost
from analytics.detectors.gpu.programs import job_at, program_of
from analytics.detectors.spec import NO_VERDICTS, Detector, EvidenceColumns, Scope, Verdicts, verdicts_of
from analytics.state.memory import Memory, MemoryColumn
from analytics.view.tick_view import Column, TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key
from telemetry.xid_codes import CLEANUP, classify, is_application

REPEATED = "programs_with_application_xids"  # name of the evidence that they repeat
_SCORES = {"hardware": 3.0, "application": 0.0, "other": 1.5}
_RECENT_NS = 900 * 10**9  # the last code stays in the telemetry: after so long it is history
_KEPT, _KEPT_NS = 8, 30 * 86_400 * 10**9  # programs of each GPU that are remembered, and for how long
_REPEATED_MIN = 2
_SURE, _SUSPECTED = 0.9, 0.7  # confidence
_CHANCE = 0.01  # that any GPU of the cluster is suspected although all are alike


@dataclass(frozen=True, kw_only=True)
class GpuXid(Detector):
    """A change of the last code is an event; the code at first sight is history."""

    name: str = "gpu_xid"
    kind: FindingKind = FindingKind.GPU_XID
    metrics: tuple[str, ...] = ("gpu_xid_last",)
    scope: Scope = Scope.CLUSTER
    clear_intervals: float = 1.0
    light: bool = True
    memory: tuple[MemoryColumn, ...] = (
        MemoryColumn("programs", _KEPT, "i8"),  # those with application errors, newest first; 0: none
        MemoryColumn("at_ns", _KEPT, "i8"),
    )

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(self.metrics[0])
        changed_ns = view.series["moved_ns"][column.sids]
        rows = memory.rows(column.sids)
        recent = (column.values > 0) & (changed_ns >= view.end_ns - _RECENT_NS)
        lately = memory["at_ns"][rows, 0] >= view.end_ns - _RECENT_NS
        if not (view.watching or recent.any() or lately.any()):
            return [NO_VERDICTS]
        score = np.zeros(len(column))
        score[recent] = _by_class(column.values[recent])
        blamed = recent & is_application(column.values) & (column.values != CLEANUP)
        for row in np.flatnonzero(blamed & (changed_ns > memory["at_ns"][rows, 0])).tolist():
            _note(memory, int(rows[row]), _program(view, column, row), int(changed_ns[row]))
        repeats = np.zeros(len(column))
        own, usual = _programs(view, memory, rows)
        lately = memory["at_ns"][rows, 0] >= view.end_ns - _RECENT_NS
        repeats[lately] = _unlikely(own[lately], usual[lately], rows.size)
        found = verdicts_of(column, np.maximum(score, repeats), normals=np.zeros(len(column)), unit="XID")
        return [_with_repeats(found, view, column.sids, np.where(repeats >= 1.0, own, np.nan), usual)]


def _by_class(codes: NDArray[np.float64]) -> NDArray[np.float64]:
    distinct, at = np.unique(codes, return_inverse=True)
    return np.array([_SCORES[classify(int(code))] for code in distinct], np.float64)[at]


def _program(view: TickView, column: Column, row: int) -> int:
    """A number for the program on the GPU of a row when its code changed; 0 where none is known."""
    sid = int(column.sids[row])
    at_ns = int(view.series["moved_ns"][sid])
    gpu = view.index.object_ref(int(column.objects[row]))
    job = job_at(view.topology, gpu, at_ns - round(view.cadence_s[sid] * 1e9), at_ns)
    if job is None:
        return 0
    return int.from_bytes(hashlib.blake2b(program_of(job).encode(), digest_size=7).digest()) or 1


def _note(memory: Memory, row: int, program: int, at_ns: int) -> None:
    """The newest first; a program that is known already moves there."""
    programs, times_ns = memory["programs"], memory["at_ns"]
    known = [
        (old, old_ns)
        for old, old_ns in zip(programs[row].tolist(), times_ns[row].tolist(), strict=True)
        if old not in (0, program) and at_ns - old_ns <= _KEPT_NS
    ]
    newest = [(program, at_ns), *known][:_KEPT]
    programs[row], times_ns[row] = 0, 0
    programs[row, : len(newest)], times_ns[row, : len(newest)] = zip(*newest, strict=True)


def _programs(
    view: TickView, memory: Memory, rows: NDArray[np.int64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each GPU: programs with application errors in ``_KEPT_NS``, and how many the other GPUs have on average.

    One more counts among the others, so that little history proves little.
    """
    recent = (memory["programs"][rows] != 0) & (memory["at_ns"][rows] >= view.end_ns - _KEPT_NS)
    own = np.count_nonzero(recent, axis=1).astype(np.float64)
    return own, (own.sum() - own + 1.0) / max(1, rows.size - 1)


def _unlikely(own: NDArray[np.float64], usual: NDArray[np.float64], gpus: int) -> NDArray[np.float64]:
    """1 and more where so many programs are no chance.

    If all GPUs are alike, the number is Poisson with the mean of the others; the limit is divided by the number of GPUs
    (Bonferroni).
    """
    limit = math.log(_CHANCE / max(1, gpus))
    chances = [_log_chance(count, mean) for count, mean in zip(own.tolist(), usual.tolist(), strict=True)]
    return np.where(own >= _REPEATED_MIN, np.array(chances, np.float64) / limit, 0.0)


def _with_repeats(
    found: Verdicts, view: TickView, sids: NDArray[np.int64], own: NDArray[np.float64], usual: NDArray[np.float64]
) -> Verdicts:
    """The verdicts with what repeats as their first evidence. own, usual: of each of ``sids``, which ascend."""
    xids = found.evidence[0]
    at = np.searchsorted(sids, xids.sids)

    def programs(row: int) -> str:
        return series_key(REPEATED, {"gpu": view.index.object_ref(int(found.objects[row])).name})

    repeats = EvidenceColumns(xids.sids, own[at], usual[at], "programs", programs)
    confidence = np.where(np.isnan(own[at]), _SURE, _SUSPECTED)
    evidence = repeats, xids, nvlink_lost.expected_share(view, found.objects, xids.values)
    return Verdicts(found.objects, found.times_ns, found.breached, found.score, evidence, confidence)


def _log_chance(count: float, mean: float) -> float:
    """Natural logarithm of the chance of at least so many events, Poisson.

    >>> round(_log_chance(1, 0.5), 4)  # 1 - exp(-0.5)
    -0.9327
    """
    below = sum(mean**k / math.factorial(k) for k in range(int(count))) * math.exp(-mean)
    return math.log(max(1.0 - below, 1e-300))
