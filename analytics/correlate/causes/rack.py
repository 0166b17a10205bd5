"""Power of a rack, or of racks that share a feed: most of their devices die at once.

Silence alone is no death: a starved collector receives nothing either. A device that lives sees the link to a dead one
go down, so a silent device counts only where no living neighbour could report its link, or one does.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.causes.devices import deaths, is_most
from analytics.correlate.causes.unplaced import Loss, began_with, losses
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import ObjectKind, ObjectRef

CONFIDENCE_MIN = 0.9  # less is the silence of one exporter of a device whose other targets answer
Gone = dict[str, tuple[frozenset[str], int]]  # by device: the findings that show it, and the first onset


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Racks whose devices went down together: each silent like all its neighbours, or dead by its links."""
    silent: defaultdict[str, list[Finding]] = defaultdict(list)  # by device: each of what shows it
    for finding in view.of(FindingKind.TARGET_SILENT):
        if finding.object.device and finding.confidence >= CONFIDENCE_MIN:
            silent[finding.object.device].append(finding)
    gone = {
        name: (frozenset(each.id for each in found), found[0].onset_ns)
        for name, found in silent.items()
        if view.graph.neighbours(name) <= silent.keys()
    }
    died = {death.device: death for death in deaths(view) if not death.alive}
    gone |= {name: (death.findings, death.onset_ns) for name, death in died.items()}
    names = {known.rack for name in gone if (known := view.graph.devices.get(name)) and known.rack}
    lost = [rack for name in sorted(names) if (rack := _rack(view, name, gone))]
    unplaced = losses(view) if lost else []
    # Two feeds that fail within seconds of each other by chance are far less likely than one that several racks
    # share: a busway, a phase of a PDU.
    for racks in at_once(lost, view.config.onset_slack_ns):
        seen = all(died.keys() >= set(rack.dead) for rack in racks)
        yield _cause(view, racks, gone, unplaced, HoldPolicy.NONE if seen else None)


@dataclass(frozen=True, slots=True)
class _Rack:
    """A rack most of whose devices went away at once, and when the first of them did."""

    id: str
    dead: tuple[str, ...]
    devices: int
    onset_ns: int

    @property
    def ref(self) -> ObjectRef:
        return ObjectRef(ObjectKind.RACK, self.id)


def _rack(view: CorrelationView, rack: str, gone: Gone) -> _Rack | None:
    members = view.graph.rack(rack)
    dead = tuple(name for name in members if name in gone)
    if not is_most(view, rack, len(dead)):
        return None
    onsets = [gone[name][1] for name in dead]
    if max(onsets) - min(onsets) > view.config.onset_slack_ns:
        return None
    return _Rack(rack, dead, len(members), min(onsets))


def _cause(
    view: CorrelationView, racks: list[_Rack], gone: Gone, unplaced: Iterable[Loss], hold: HoldPolicy | None
) -> Cause:
    """unplaced: where what the devices were linked to is not known, ports that lost their carrier with them. hold: none
    where others saw all of the devices die: more racks make the same incident larger."""
    root = view.root(IncidentKind.RACK_POWER, [rack.ref for rack in racks])
    dead = [name for rack in racks for name in rack.dead]
    with_it = [
        loss
        for loss in unplaced
        if not loss.silent.keys().isdisjoint(dead)
        or (not loss.silent and any(began_with(view, loss, rack.onset_ns) for rack in racks))
    ]
    dark = {finding.id for loss in with_it for finding in loss.ports.values()}
    others = [rack for rack in racks if rack.ref != root]
    which = f"rack {root.name}" if not others else "racks " + ", ".join(sorted(rack.id for rack in racks))
    return cause_of(
        IncidentKind.RACK_POWER,
        root,
        frozenset(dark).union(*(gone[name][0] for name in dead)),
        f"{len(dead)} of {sum(rack.devices for rack in racks)} devices of {which} went away at once",
        hold=hold,
        gone=frozenset(name for rack in others for name in rack.dead),
        subject=f"{root.name} and {len(others)} more" if others else "",
        action=f"Check what feeds {which}: a busway, a PDU, a phase." if others else "",
    )
