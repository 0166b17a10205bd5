"""Whether pressure on the fabric explains that a job waits.

Hosts of a healthy cluster pause their switches for a moment, and a large job dips for reasons of its own. So where both
are ordinary, that they coincide shows nothing. Nor does pressure that was there before a GPU of the job lost its clock,
as no pressure lowers one. And who waits for the other members waits in kernels: what a job loses without them it loses
to its data or its program, and of ports towards hosts only those of storage servers can be why.
"""

from analytics.correlate.cause import SUPPORTS_ONLY, Cause
from analytics.correlate.pauses import End
from analytics.correlate.symptoms import effect_of, follows
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Effect, incident_kinds

_AT_HOST = frozenset({IncidentKind.SLOW_RECEIVER, IncidentKind.INCAST})


def is_ordinary(cause: Cause) -> bool:
    """Whether a cause is pressure that healthy fabrics have too: that it is there says little about who waits."""
    row = incident_kinds()[cause.kind]
    return row.disturbs_fabric and not row.pages_without_waiting


def explains_wait(view: CorrelationView, cause: Cause, waits: Finding) -> bool:
    """Whether a job may wait for a cause. waits: shows that it does. Of what pages nobody before a job waits that takes
    more than one low bin, while other NICs of the job's hosts pause their switches too, and that began or changed since
    a GPU of the job lost its clock. Of a port to a host without storage it takes that the job waits in kernels."""
    if incident_kinds()[cause.kind].pages_without_waiting:
        return True
    if _waits_for_clock(view, cause, waits):
        return False
    if cause.kind in _AT_HOST and _outside_kernels(view, waits) and not _at_storage(view, cause):
        return False
    if waits.confidence >= SUPPORTS_ONLY:
        return True
    ports = {origin.port for origin in view.origins if origin.end is End.EDGE} - {cause.root}
    return not any(waits.object.name in view.jobs.of(port) for port in ports)


def _outside_kernels(view: CorrelationView, waits: Finding) -> bool:
    """Whether a job works less, for longer than one bin, and its pace in kernels is as usual (``job_slowed``), or it
    computes nothing and its GPUs have no kernels (``job_idle``)."""
    if waits.kind is FindingKind.JOB_STALLED:
        return any(finding.kind is FindingKind.JOB_IDLE for finding in view.about(waits.object))
    return waits.kind is FindingKind.JOB_SLOWED and waits.confidence < SUPPORTS_ONLY and waits.score >= 1.0


def _at_storage(view: CorrelationView, cause: Cause) -> bool:
    peer = view.graph.peers.get(cause.root)
    return peer is not None and bool(view.graph.targets_of(peer.device))


def _waits_for_clock(view: CorrelationView, cause: Cause, waits: Finding) -> bool:
    """Whether the clock of a GPU of the job fell when it began to wait, and nothing of the cause has begun since."""
    since_ns = view.waits_since(waits.object)
    changed_ns = max((view.by_id[found].onset_ns for found in cause.primary if found in view.by_id), default=0)
    return any(
        changed_ns < slow.onset_ns and follows(view.config, (slow.onset_ns,), since_ns, slow.cadence_s, waits.cadence_s)
        for slow in view.of(FindingKind.STRAGGLER)
        if effect_of(slow) is Effect.CLOCK_LOST and waits.object.name in view.jobs.of(slow.object)
    )
