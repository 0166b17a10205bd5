"""What a cause can disturb, and so which symptoms it explains.

A symptom (a stalled job, a deviation, a pause without an origin) belongs to the nearest cause: one about the same
object, else one that the symptom's job depends on, else one on a neighbouring device, else any fault of the fabric.
It must not be older than the cause by more than the sampling lets detectors disagree.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

from analytics.correlate.causes.cause import CONGESTED, PAUSES, SYMPTOMS, Cause
from analytics.correlate.evidence import View
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device

FABRIC = frozenset(
    {
        IncidentKind.SLOW_RECEIVER,
        IncidentKind.INCAST,
        IncidentKind.PAUSE_LOOP,
        IncidentKind.LINK_DOWN,
        IncidentKind.LINK_FLAPPING,
        IncidentKind.LINK_DEGRADED,
        IncidentKind.DEVICE_DOWN,
        IncidentKind.DEVICE_REBOOTED,
        IncidentKind.RACK_POWER,
    }
)
SLOW_CHANGE = frozenset({IncidentKind.CAPACITY, IncidentKind.WEAR})  # of days: no reason for what begins now
VAGUE = frozenset({IncidentKind.TELEMETRY_LOST, IncidentKind.UNEXPLAINED, IncidentKind.CONGESTION})
# A checkpoint is written while no kernel runs: what slows GPUs does not hold it up, nor does what routing goes round.
WRITTEN = frozenset({FindingKind.CHECKPOINT_LATE, FindingKind.CHECKPOINT_COLLIDING})
NO_MATTER_TO_WRITES = frozenset(
    {IncidentKind.GPU_FAULT, IncidentKind.STRAGGLER, IncidentKind.ENVIRONMENT, IncidentKind.BGP_DOWN}
)
ROUTED_AROUND = frozenset({IncidentKind.LINK_DOWN, IncidentKind.DEVICE_DOWN, IncidentKind.DEVICE_REBOOTED})
# Who waits for what a link loses waits for storage behind it too.
LOSES = frozenset({IncidentKind.LINK_DEGRADED, IncidentKind.LINK_FLAPPING})
TRAFFIC = CONGESTED | {FindingKind.DEVIATION}


class Near(IntEnum):
    """How near a symptom is to a cause, nearest first."""

    OWN = 0  # about the root, its ends or its parts
    CERTAIN_JOB = 1
    POSSIBLE_JOB = 2
    DEVICE = 3  # on a device of the neighbourhood
    FABRIC = 4  # anywhere on a switch


@dataclass(frozen=True, slots=True)
class Reach:
    """own: the root, its ends and parts. devices: its neighbourhood. certain: jobs that cannot go on without the root.
    possible: jobs that may feel it; only their own symptoms tell."""

    own: frozenset[ObjectRef]
    devices: frozenset[str]
    certain: frozenset[str]
    possible: frozenset[str]


def reach(view: View, cause: Cause) -> Reach:
    """What a cause reaches; kept with the view's cluster, because incidents stay for many ticks."""
    key = (cause.kind in FABRIC, cause.root, cause.devices, bool(cause.change))
    if key not in view.reaches:
        view.reaches[key] = _reach(view, cause)
    return view.reaches[key]


def _reach(view: View, cause: Cause) -> Reach:
    graph, jobs = view.graph, view.jobs
    own = _own(view, cause.root) | {device(name) for name in cause.devices if cause.change}
    reached = graph.reached(cause.root)
    ends = {ref.device for ref in own if ref.device}
    devices = ends | cause.devices
    if cause.root.kind is ObjectKind.DEVICE:
        devices |= graph.neighbours(cause.root.name)
    certain = {job_id for ref in reached for job_id in _dependents(view, ref)}
    possible = {job_id for name in ends for job_id in jobs.on_device(name)}
    if cause.kind in FABRIC:
        possible = possible.union(*(jobs.around(name) for name in devices))
    if cause.root.kind is ObjectKind.STORAGE_TARGET:
        possible |= jobs.using(cause.root)
    return Reach(frozenset(own), frozenset(devices), frozenset(certain), frozenset(possible))


def _own(view: View, root: ObjectRef) -> set[ObjectRef]:
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


def _dependents(view: View, ref: ObjectRef) -> Iterable[str]:
    if ref.kind in (ObjectKind.DEVICE, ObjectKind.GPU, ObjectKind.JOB):
        return view.jobs.of(ref)
    return ()


def explains(view: View, cause: Cause, near: Near, onset_ns: int, finding: Finding) -> bool:
    """Whether a symptom that is ``near`` a cause can come from it."""
    if finding.kind not in SYMPTOMS or cause.kind in SLOW_CHANGE or not _in_time(view, onset_ns, finding):
        return False
    if finding.kind is FindingKind.STORAGE_SLOW:
        return cause.kind in LOSES and near <= Near.POSSIBLE_JOB
    if near is Near.OWN:
        return True
    if cause.kind in VAGUE or (finding.kind in WRITTEN and not _holds_writes(cause, near)):
        return False
    if near is Near.FABRIC:
        return finding.kind in (TRAFFIC if cause.kind in FABRIC else TRAFFIC - PAUSES - {FindingKind.LOSSLESS_DROPS})
    # Links in the middle of the fabric slow all of its users alike: they make no straggler.
    storage = cause.root.kind is ObjectKind.STORAGE_TARGET
    return finding.kind is not FindingKind.STRAGGLER or near is Near.CERTAIN_JOB or storage


def _holds_writes(cause: Cause, near: Near) -> bool:
    return cause.kind not in NO_MATTER_TO_WRITES and (near is Near.CERTAIN_JOB or cause.kind not in ROUTED_AROUND)


def _in_time(view: View, onset_ns: int, finding: Finding) -> bool:
    config = view.config
    if finding.onset_ns < onset_ns - config.onset_slack_ns:
        return False
    late = onset_ns + config.intervals_ns(config.straggler_window_intervals)
    return finding.kind is not FindingKind.STRAGGLER or finding.onset_ns <= late
