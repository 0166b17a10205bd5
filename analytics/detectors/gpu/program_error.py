"""Program error: an XID by which the driver blames the program that ran on a GPU. Nobody has to repair anything."""

from dataclasses import dataclass

import numpy as np

from analytics.detectors.gpu.programs import job_at, program_of
from analytics.detectors.spec import Detector, EvidenceColumns, Verdicts, computed_evidence, verdicts_of
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry.findings import FindingKind
from telemetry.series import series_key
from telemetry.xid_codes import is_application

PROGRAM = "program"  # name of the evidence that says whose it was
_RECENT_NS = 900 * 10**9  # the last code stays in the telemetry: after so long it is history


@dataclass(frozen=True, kw_only=True)
class ProgramError(Detector):
    """A change of the last code is an event; the code at first sight is history."""

    name: str = "program_error"
    kind: FindingKind = FindingKind.PROGRAM_ERROR
    metrics: tuple[str, ...] = ("gpu_xid_last",)
    clear_intervals: float = 1.0

    def judge(self, view: TickView, memory: Memory) -> list[Verdicts]:
        column = view.column(self.metrics[0])
        recent = view.series["moved_ns"][column.sids] >= view.end_ns - _RECENT_NS
        score = np.where(recent & is_application(column.values), 1.0, 0.0)
        found = verdicts_of(column, score, normals=np.zeros(len(column)), unit="XID")
        return [_with_programs(found, view)]


def _with_programs(found: Verdicts, view: TickView) -> Verdicts:
    xids = found.evidence[0]

    def program(row: int) -> str:
        return program_key(view, int(xids.sids[row]), int(found.objects[row]))

    programs = computed_evidence(found.breached.astype(np.float64), 0.0, "programs", program)
    evidence: tuple[EvidenceColumns, ...] = (xids, programs)
    return Verdicts(found.objects, found.times_ns, found.breached, found.score, evidence, found.confidence)


def program_key(view: TickView, sid: int, number: int) -> str:
    """The program that the newest XID of a GPU is about, as a series key: labels are empty where none is known."""
    at_ns = int(view.series["moved_ns"][sid])
    since_ns = at_ns - round(view.cadence_s[sid] * 1e9)
    job = job_at(view.topology, view.index.object_ref(number), since_ns, at_ns)
    if job is None:
        return series_key(PROGRAM, {})
    return series_key(PROGRAM, {"job_id": job.job_id, "program": program_of(job)})
