"""Links with bit errors of which FEC repairs all: no frame is lost, so no job waits for them."""

from analytics.correlate.claim import Claim
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding
from telemetry.limits import PRE_FEC_BER_MAX

_BEFORE_FEC = "fec_budget"  # the detector of errors before FEC; those after it and low speeds have others


def loses_nothing(view: CorrelationView, claim: Claim) -> bool:
    """Whether all that a claim rests on are bit error ratios before FEC below the limit up to which FEC holds."""
    for found in claim.primary:
        if not _is_repaired(view.by_id[found]):
            return False
    return bool(claim.primary)


def _is_repaired(finding: Finding) -> bool:
    return finding.detector == _BEFORE_FEC and all(one.value < PRE_FEC_BER_MAX for one in finding.evidence[:1])
