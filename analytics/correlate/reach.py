"""What a cause can disturb, and so which symptoms it explains.

A symptom (a stalled job, a deviation, a pause without an origin) belongs to the nearest cause: one about the same
object, else one that the symptom's job depends on, else one on a neighbouring device, else any fault of the fabric.
It must not be older than the cause by more than the sampling lets detectors disagree.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from analytics.correlate.cause import PAUSES, QUEUES, SYMPTOMS, Cause
from analytics.correlate.view import View
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
VAGUE = frozenset({IncidentKind.TELEMETRY_LOST, IncidentKind.UNEXPLAINED, IncidentKind.CONGESTION})
TRAFFIC = PAUSES | QUEUES | {FindingKind.DEVIATION}


@dataclass(frozen=True, slots=True)
class Reach:
    """own: the root, its ends and parts. devices: its neighbourhood. certain: jobs that cannot go on without the root.
    possible: jobs that may feel it; only their own symptoms tell."""

    own: frozenset[ObjectRef]
    devices: frozenset[str]
    certain: frozenset[str]
    possible: frozenset[str]


def reach(view: View, cause: Cause) -> Reach:
    graph, jobs = view.graph, view.jobs
    own = _own(view, cause.root) | {device(name) for name in cause.devices if cause.change}
    reached = graph.reached(cause.root)
    ends = {ref.device for ref in own if ref.device}
    devices = ends | cause.devices
    if cause.root.kind is ObjectKind.DEVICE:
        devices |= graph.neighbours(cause.root.name)
    certain = {job_id for ref in reached for job_id in _dependents(view, ref)}
    felt = devices | {near for name in devices if graph.is_switch(name) for near in graph.neighbours(name)}
    felt |= {near for name in felt - devices if graph.is_switch(name) for near in graph.neighbours(name)}
    for ref in reached:
        if ref.kind is ObjectKind.FILESYSTEM:
            felt |= graph.mounted_on(ref.name)
    hosts = felt if cause.kind in FABRIC or cause.root.kind is ObjectKind.STORAGE_TARGET else ends
    possible = {job_id for name in hosts for job_id in jobs.on_device(name)}
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


def nearness(view: View, cause: Cause, to: Reach, onset_ns: int, finding: Finding) -> int | None:
    """How near a symptom is to a cause, 0 nearest; None where the cause does not explain it."""
    if finding.kind not in SYMPTOMS or not _in_time(view, onset_ns, finding):
        return None
    if finding.object in to.own:
        return 0
    if cause.kind in VAGUE:
        return None
    mine = view.jobs.of(finding.object)
    if not to.certain.isdisjoint(mine):
        return 1
    if finding.kind is FindingKind.STRAGGLER and cause.root.kind is not ObjectKind.STORAGE_TARGET:
        return None  # links in the middle of the fabric slow all of its users alike
    if not to.possible.isdisjoint(mine):
        return 2
    if finding.object.device in to.devices:
        return 3
    traffic = TRAFFIC if cause.kind in FABRIC else TRAFFIC - PAUSES - {FindingKind.LOSSLESS_DROPS}
    return 4 if finding.kind in traffic and view.graph.is_switch(finding.object.device) else None


def _in_time(view: View, onset_ns: int, finding: Finding) -> bool:
    config = view.config
    if finding.onset_ns < onset_ns - config.onset_slack_ns:
        return False
    late = onset_ns + config.intervals_ns(config.straggler_window_intervals)
    return finding.kind is not FindingKind.STRAGGLER or finding.onset_ns <= late
