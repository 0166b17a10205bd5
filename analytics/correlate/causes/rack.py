"""Power of a rack: most of its devices die at once.

Silence alone is no death: a starved collector hears nobody either. A device that lives sees the link to a dead one go
down, so a silent device counts only where no living neighbour could tell, or one does tell.
"""

from collections.abc import Iterable

from analytics.correlate.causes.cause import Cause, cause_of
from analytics.correlate.causes.devices import deaths
from analytics.correlate.view import CorrelationView
from telemetry.findings import FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef

SURE = 0.9  # less is the silence of one exporter of a device that answers otherwise
DEVICES_MIN = 3  # fewer devices in a rack tell nothing about the rack


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Racks whose devices went together: each silent with all its neighbours, or dead as its links say."""
    silent = {
        finding.object.device: finding
        for finding in view.of(FindingKind.TARGET_SILENT)
        if finding.object.device and finding.confidence >= SURE
    }
    gone = {
        name: (frozenset({finding.id}), finding.onset_ns)
        for name, finding in silent.items()
        if view.graph.neighbours(name) <= silent.keys()
    }
    for death in deaths(view):
        if not death.alive:
            gone[death.device] = (death.findings, death.onset_ns)
    racks = {known.rack for name in gone if (known := view.graph.devices.get(name)) and known.rack}
    for rack in sorted(racks):
        yield from _rack(view, rack, gone)


def _rack(view: CorrelationView, rack: str, gone: dict[str, tuple[frozenset[str], int]]) -> Iterable[Cause]:
    members = view.graph.rack(rack)
    dead = [name for name in members if name in gone]
    if len(dead) < DEVICES_MIN or len(dead) < view.config.rack_share * len(members):
        return
    onsets = [gone[name][1] for name in dead]
    if max(onsets) - min(onsets) > view.config.onset_slack_ns:
        return
    yield cause_of(
        IncidentKind.RACK_POWER,
        ObjectRef(ObjectKind.RACK, rack),
        frozenset[str]().union(*(gone[name][0] for name in dead)),
        f"{len(dead)} of {len(members)} devices of rack {rack} went away at once",
    )
