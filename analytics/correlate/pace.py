"""How much a GPU whose clock fell can cost its job: members in lockstep go on at its pace, and no slower."""

from analytics.correlate.claim import Claim
from analytics.correlate.cost import lost_share
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding

_CLOCK = "gpu_sm_clock_hertz"
_SLACK = 0.75  # of that pace, which work is counted at that is averaged over bins (assumption)


def loses_more(view: CorrelationView, claim: Claim, waits: Finding) -> bool:
    """Whether a job loses more than a straggler takes whose clock is all that shows. claim: of the straggler. waits:
    shows that the job waits."""
    left = min([_clock_left(view.by_id[found]) for found in claim.primary], default=0.0)
    return 1.0 - lost_share(waits) < _SLACK * left


def _clock_left(straggler: Finding) -> float:
    """The part of its clock that a GPU has left, 0 where it is slow by something else."""
    for one in straggler.evidence:
        if one.normal and one.series.startswith(f"{_CLOCK}{{"):
            return one.value / one.normal
    return 0.0
