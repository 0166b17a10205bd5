"""A planned change explains the findings about its objects: a rolling reboot is one incident and pages nobody.

Until it is over: what has not come back by then is down, and somebody must know.
"""

from collections.abc import Iterable

from analytics.correlate.cause import AWAY, Cause, cause_of
from analytics.correlate.causes.unplaced import Loss, losses
from analytics.correlate.view import PLANNED, CorrelationView
from telemetry.changes import Change
from telemetry.findings import Finding
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device

FACTOR = 2.0  # a recorded change ranks above any inference


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Planned changes, each with the findings about its objects that began while it lasted."""
    planned = [change for change in view.changes if change.kind in PLANNED and not view.is_over(change)]
    unplaced = [loss for loss in losses(view) if loss.silent] if planned else []
    for change in planned:
        found = [finding for finding in _about(view, change, unplaced) if view.covers(change, finding.onset_ns)]
        if not found:
            continue
        ranked = [device(name) for name in sorted(_devices(view, change))]
        first = sorted(ranked, key=lambda ref: (_onset(found, ref.name), ref))
        yield cause_of(
            IncidentKind.DEVICE_REBOOTED,
            view.root(IncidentKind.DEVICE_REBOOTED, first),
            frozenset(finding.id for finding in found),
            f"planned: {change.kind} {change.summary or change.id}",
            factor=FACTOR,
            gone=frozenset(_devices(view, change)),
            action="Nothing to do: what is not back when the work is over is paged. Move its end if it takes longer.",
            change=change.id,
        )


def _devices(view: CorrelationView, change: Change) -> set[str]:
    """Devices that the change takes away; a change of a port or GPU takes none."""
    names = {ref.name for ref in change.objects if ref.kind is ObjectKind.DEVICE}
    racks = [ref.name for ref in change.objects if ref.kind is ObjectKind.RACK]
    return names | {name for rack in racks for name in view.graph.rack(rack)}


def _about(view: CorrelationView, change: Change, unplaced: Iterable[Loss]) -> list[Finding]:
    """unplaced: with silent devices; where all are the change's, so are the ports that went dark with them."""
    names = sorted(_devices(view, change))
    led_here = [port for loss in unplaced if loss.silent.keys() <= {*names} for port in loss.ports.values()]
    ports: set[ObjectRef] = {port for n in names for link in view.graph.links(n) for port in view.graph.ports(link)}
    near = [finding for port in sorted(ports) for finding in view.about(port)]
    own = [finding for name in names for finding in view.on_device(name)]
    found = {finding.id: finding for finding in (*near, *own, *led_here) if finding.kind in AWAY}
    return [found[key] for key in sorted(found)]


def _onset(found: list[Finding], name: str) -> int:
    """Onset of the first finding about a device; one without findings comes last."""
    return min((finding.onset_ns for finding in found if finding.object.device == name), default=2**63)
