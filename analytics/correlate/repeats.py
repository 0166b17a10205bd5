"""Jobs whose adapters send again what a lossless queue drops.

RDMA over Ethernet repeats all that followed a lost packet (go-back-N), and its sender waits for that. So a queue that
drops and adapters of a job behind it that repeat are proof enough that the job waits, also where it loses too little
for its own work to show.
"""

from collections.abc import Container, Iterable
from operator import attrgetter

from analytics.correlate.cost import Wait
from analytics.correlate.symptoms import effect_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.kinds import Effect


def repeating(view: CorrelationView, primary: Iterable[Finding], measured: Container[str]) -> dict[str, Wait]:
    """Jobs that wait for a queue that drops, by id; how much they lose by it is not known: 0.

    primary: the own findings of a cause. measured: jobs with findings about their own work, which say more. The next
    bin of the job's work is waited for, as it may say what it costs.
    """
    own = list(primary)
    if all(finding.kind is not FindingKind.LOSSLESS_DROPS for finding in own):
        return {}
    repeats = [one for one in own if one.kind is FindingKind.DEVIATION and effect_of(one) is Effect.RETRANSMISSION]
    found: dict[str, Wait] = {}
    for finding in sorted(repeats, key=attrgetter("onset_ns", "id")):
        for job_id in view.jobs.of(finding.object):
            if job_id not in measured:
                found.setdefault(job_id, Wait(0.0, finding.onset_ns, single=True))
    return found
