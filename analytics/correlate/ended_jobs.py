"""Jobs that a fault ended. A program that loses a GPU or its host ends, and its whole job with it; by the time people
are notified the scheduler may have forgotten it, and the incident must not say that nobody was hit."""

from collections.abc import Iterable, Mapping

from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from common.units import NS_PER_S
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import incident_kinds
from telemetry.objects import ObjectKind, ObjectRef

# What waits for a peer that is gone gives up after this time: the default timeout of a process group of NCCL
# (PyTorch, torch.distributed.init_process_group; since pytorch/pytorch#110947).
GIVES_UP_NS = 600 * NS_PER_S
# What is lost was seen last one interval before the first sample that is missing, and exporters answer with values that
# may be as old (dcgm-exporter collects every 30 s by default).
_UNSEEN_INTERVALS = 2.0
LOST = frozenset({FindingKind.GPU_LOST, FindingKind.GPU_XID})


def ended_by(view: CorrelationView, track: Track) -> Mapping[str, int]:
    """When jobs ended that were on what the root took away, by id: from when it may have been lost, unseen, until they
    had to give up."""
    if not view.cluster.nodes.ended:
        return {}
    since_ns = track.onset_ns - view.config.across_ns(_UNSEEN_INTERVALS, [track.cadence_s])
    found: dict[str, int] = {}
    for ref in _taken_away(view, track):
        for seen_ns, job_id in view.cluster.nodes.ended.get(ref.device, ()):
            ended_ns = min(seen_ns, view.job_ends.get(job_id, seen_ns))
            if since_ns <= ended_ns <= track.onset_ns + GIVES_UP_NS and view.jobs.uses(job_id, ref):
                found[job_id] = ended_ns
    return found


def _taken_away(view: CorrelationView, track: Track) -> Iterable[ObjectRef]:
    """GPUs that are no good any more, and hosts that are gone; not those that nobody used."""
    cause, root = track.cause, track.cause.root
    if cause.kind is IncidentKind.GPU_FAULT:
        primary = (view.by_id[found] for found in sorted(cause.primary) if found in view.by_id)
        return [finding.object for finding in primary if finding.kind in LOST]
    if "gpus" not in incident_kinds()[cause.kind].takes_away:
        return []
    names = view.graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.name]
    used = sorted({*names, *cause.gone} - view.idle)
    return [ObjectRef(ObjectKind.DEVICE, name) for name in used]
