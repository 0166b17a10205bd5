"""What a job sends, as evidence of findings about its work: slow jobs send less, one that hangs sends nothing."""

from collections.abc import Callable, Sequence

import numpy as np

from analytics.detectors.spec import EvidenceColumns, computed_evidence
from analytics.models.jobs.sending import HANG_SECONDS, HANGS_BY_ITSELF_S, SENT_SHARE, SILENT_SECONDS, Sending
from analytics.view.tick_view import TickView
from telemetry.series import series_key

_SHOWN: tuple[tuple[str, str, Callable[[Sending], float]], ...] = (
    (SENT_SHARE, "ratio", lambda sending: sending.share),
    (SILENT_SECONDS, "seconds", lambda sending: sending.silent_s),
    # Not before: findings show their values once.
    (HANG_SECONDS, "seconds", lambda sending: sending.hangs_s if sending.hangs_s >= HANGS_BY_ITSELF_S else np.nan),
)


def traffic_evidence(view: TickView, names: Sequence[str]) -> tuple[EvidenceColumns, ...]:
    """Of each job: its part of what it usually sends; where that is nothing, for how long, and for how long its GPUs
    have polled meanwhile. What is not known or not so is left out."""
    known = [view.derived.traffic.get(name, Sending()) for name in names]

    def shown(series: str, unit: str, value: Callable[[Sending], float]) -> EvidenceColumns:
        values = np.array([value(sending) for sending in known], np.float64)
        return computed_evidence(values, np.nan, unit, lambda row: series_key(series, {"job_id": names[row]}))

    return tuple(shown(*each) for each in _SHOWN)
