"""What a cause can disturb, and so which symptoms it explains.

A symptom (a stalled job, a deviation, a pause without an origin) belongs to the nearest cause: one about the same
object, else one that the symptom's job depends on, else one on a neighbouring device, else any fault of the fabric.
It must not be older than the cause by more than the sampling lets detectors disagree.
"""

from collections.abc import Iterable
from enum import IntEnum

from analytics.correlate.causes.cause import CONGESTED, PAUSES, SYMPTOMS, Cause, Reach
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.kinds import Explains, HoldsWrites, IncidentMeaning, incident_kinds
from telemetry.objects import ObjectKind, ObjectRef, device

# A checkpoint is written while no kernel runs: what slows GPUs does not hold it up, nor does what routing goes round.
WRITTEN = frozenset({FindingKind.CHECKPOINT_LATE, FindingKind.CHECKPOINT_COLLIDING})
TRAFFIC = CONGESTED | {FindingKind.DEVIATION}
# What any fault of the fabric may cause anywhere; other causes only this part of it.
LOCAL_TRAFFIC = TRAFFIC - PAUSES - {FindingKind.LOSSLESS_DROPS}


class Near(IntEnum):
    """How near a symptom is to a cause, nearest first."""

    OWN = 0  # about the root, its ends or its parts
    CERTAIN_JOB = 1
    POSSIBLE_JOB = 2
    DEVICE = 3  # on a device of the neighbourhood
    FABRIC = 4  # anywhere on a switch


def reach(view: CorrelationView, cause: Cause) -> Reach:
    """What a cause reaches; kept with the view's cluster, because incidents stay for many ticks."""
    key = (incident_kinds()[cause.kind].disturbs_fabric, cause.root, cause.devices, bool(cause.change))
    if key not in view.reaches:
        view.reaches[key] = _reach(view, cause)
    return view.reaches[key]


def _reach(view: CorrelationView, cause: Cause) -> Reach:
    graph, jobs = view.graph, view.jobs
    own = _own(view, cause.root) | {device(name) for name in cause.devices if cause.change}
    reached = graph.reached(cause.root)
    ends = {ref.device for ref in own if ref.device}
    devices = ends | cause.devices
    if cause.root.kind is ObjectKind.DEVICE:
        devices |= graph.neighbours(cause.root.name)
    certain = {job_id for ref in reached for job_id in _dependents(view, ref)}
    possible = {job_id for name in ends for job_id in jobs.on_device(name)}
    if incident_kinds()[cause.kind].disturbs_fabric:
        possible = possible.union(*(jobs.around(name) for name in devices))
    if cause.root.kind is ObjectKind.STORAGE_TARGET:
        possible |= jobs.using(cause.root)
    return Reach(frozenset(own), frozenset(devices), frozenset(certain), frozenset(possible))


def _own(view: CorrelationView, root: ObjectRef) -> set[ObjectRef]:
    graph = view.graph
    link = graph.link_of.get(root, root)
    own = {root, link, *graph.ports(link)}
    if root.kind in (ObjectKind.DEVICE, ObjectKind.RACK):
        names = graph.rack(root.name) if root.kind is ObjectKind.RACK else [root.name]
        for name in names:
            own |= {device(name), *graph.gpus_of(name), *graph.links(name)}
            own |= {port for near in graph.links(name) for port in graph.ports(near)}
    if root.kind is ObjectKind.STORAGE_TARGET:
        own |= {device(view.server(root)), ObjectRef(ObjectKind.FILESYSTEM, root.name.partition("/")[0])}
    return own


def _dependents(view: CorrelationView, ref: ObjectRef) -> Iterable[str]:
    if ref.kind in (ObjectKind.DEVICE, ObjectKind.GPU, ObjectKind.JOB):
        return view.jobs.of(ref)
    return ()


def explains(view: CorrelationView, cause: Cause, near: Near, onset_ns: int, finding: Finding) -> bool:
    """Whether a symptom that is ``near`` a cause can come from it."""
    kind = incident_kinds()[cause.kind]
    if finding.kind not in SYMPTOMS or kind.explains is Explains.NOTHING or not _in_time(view, onset_ns, finding):
        return False
    if finding.kind is FindingKind.STORAGE_SLOW:
        return kind.loses_packets and near <= Near.POSSIBLE_JOB
    if near is Near.OWN:
        return True
    if kind.explains is Explains.OWN or (finding.kind in WRITTEN and not _holds_writes(kind, near)):
        return False
    if near is Near.FABRIC:
        return finding.kind in (TRAFFIC if kind.disturbs_fabric else LOCAL_TRAFFIC)
    # Links in the middle of the fabric slow all of its users alike: they make no straggler.
    storage = cause.root.kind is ObjectKind.STORAGE_TARGET
    return finding.kind is not FindingKind.STRAGGLER or near is Near.CERTAIN_JOB or storage


def _holds_writes(kind: IncidentMeaning, near: Near) -> bool:
    certain = kind.holds_writes is HoldsWrites.CERTAIN and near is Near.CERTAIN_JOB
    return certain or kind.holds_writes is HoldsWrites.ALWAYS


def _in_time(view: CorrelationView, onset_ns: int, finding: Finding) -> bool:
    config = view.config
    if finding.onset_ns < onset_ns - config.onset_slack_ns:
        return False
    late = onset_ns + config.intervals_ns(config.straggler_window_intervals)
    return finding.kind is not FindingKind.STRAGGLER or finding.onset_ns <= late
