"""How much a GPU whose clock fell can cost its job: members in lockstep go on at its pace, and no slower."""

from analytics.correlate.claim import Claim
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding

_CLOCK = "gpu_sm_clock_hertz"
_SLACK = 0.75  # of that pace, which work is counted at that is averaged over bins (assumption)


def loses_more(view: CorrelationView, claim: Claim, waits: Finding) -> bool:
    """Whether a job loses more than a straggler takes whose clock is all that shows. claim: of the straggler. waits:
    shows that the job waits."""
    clock = min([_clock_left(view.by_id[found]) for found in claim.primary], default=0.0)
    return _work_left(waits) < _SLACK * clock


def _work_left(waits: Finding) -> float:
    """The part of its usual work that a job does, 1 where it is not known."""
    return min([one.value / one.normal for one in waits.evidence if one.normal], default=1.0)


def _clock_left(straggler: Finding) -> float:
    """The part of its clock that a GPU has left, 0 where it is slow by something else."""
    for one in straggler.evidence:
        if one.normal and one.series.startswith(f"{_CLOCK}{{"):
            return one.value / one.normal
    return 0.0
