"""What went away at once, where nothing says what it was connected to: a device that died, or what several share.

Without LLDP or an inventory nobody knows what is behind a port. Time says it instead: a device that dies falls silent
and takes the carrier of the ports at the other ends of its links with it, within one collection. Silence alone is no
death, and a port alone is a link (``links.py``).
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.causes.devices import ALIVE_FACTOR, Death, deaths
from analytics.correlate.texts.neighbours import hosts_together
from analytics.correlate.view import CorrelationView
from analytics.detectors.telemetry.dark_ports import DIFFERENT_MAX
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import ObjectRef, device, link
from telemetry.topology import Role

SILENT_CONFIDENCE_MIN = 0.9  # less is the silence of one exporter of a device whose other targets answer
PORTS_MIN = 3  # so many that lost their carrier at once are no coincidence
SILENT_MIN = 3  # so many devices without anybody who could see their links
# A failure shows within one collection of each device, and silence begins with the one after it.
WINDOW_INTERVALS = 2.0
_CUT_OFF = "target_cut_off"  # says how many links of a device have no carrier, once all ports were read since


@dataclass(frozen=True, slots=True)
class Loss:
    """What went away within one window. silent: devices whose links are not known, in the order of their silence, with
    all that shows it: that they are cut off is known before their silence is long enough by itself.

    ports: of devices that answer, without a known other end, and without a carrier.
    """

    silent: dict[str, list[Finding]]
    ports: dict[ObjectRef, Finding]

    @property
    def found(self) -> list[Finding]:
        return [*chain.from_iterable(self.silent.values()), *self.ports.values()]

    @property
    def by_device(self) -> dict[str, list[ObjectRef]]:
        """The ports of each device."""
        found: defaultdict[str, list[ObjectRef]] = defaultdict(list)
        for port in self.ports:
            found[port.device].append(port)
        return dict(sorted(found.items()))

    @property
    def onset_ns(self) -> int:
        return min(finding.onset_ns for finding in self.found)

    @property
    def died(self) -> bool:
        """Whether there is a port for each silent device: each took the carrier of one at least."""
        return 0 < len(self.silent) <= len(self.ports)

    @property
    def is_whole(self) -> bool:
        """Whether the silent devices had as many links as there are ports: nothing else went away with them."""
        links = [_links_lost(found) for found in self.silent.values()]
        return all(links) and abs(sum(links) - len(self.ports)) <= DIFFERENT_MAX * len(self.ports)


def _links_lost(found: Iterable[Finding]) -> float:
    """Of one device; 0 where that is not known."""
    return max((each.evidence[0].value for each in found if each.detector == _CUT_OFF and each.evidence), default=0.0)


def losses(view: CorrelationView) -> list[Loss]:
    """All that went away unplaced, in groups, by onset."""
    silent = [
        finding
        for finding in view.of(FindingKind.TARGET_SILENT)
        if finding.confidence >= SILENT_CONFIDENCE_MIN and finding.object.device
        if not view.graph.links(finding.object.device)
    ]
    dark = [finding for finding in view.of(FindingKind.LINK_DOWN) if finding.object not in view.graph.link_of]
    found = (*silent, *dark)
    cadence_s = view.config.slowest_s(finding.cadence_s for finding in found)
    return [_loss(group) for group in at_once(found, view.config.intervals_ns(WINDOW_INTERVALS, cadence_s))]


def _loss(group: Sequence[Finding]) -> Loss:
    silent: dict[str, list[Finding]] = {}
    for finding in group:
        if finding.kind is FindingKind.TARGET_SILENT:
            silent.setdefault(finding.object.device, []).append(finding)
    ports = {each.object: each for each in group if each.object.device not in silent}
    return Loss(silent, ports)


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause for each group that has more in common than its time; rack power is proposed in ``rack.py``."""
    found = losses(view)
    dead = [death for death in deaths(view) if not death.alive] if found else []
    for loss in found:
        beside = [death for death in dead if not loss.silent and began_with(view, loss, death.onset_ns)]
        if beside:
            yield _beside(loss, beside[0])
            continue
        by_device = loss.by_device
        hub = max(by_device, key=lambda name: (len(by_device[name]), name), default="")
        if _is_part(by_device, hub, len(loss.ports)) and not (loss.silent and view.graph.is_edge(hub)):
            yield _part(view, loss, hub, len(by_device[hub]))
        elif loss.died:
            yield _dead(view, loss)
        elif len(loss.ports) == 2 and _may_be_linked(view, sorted(by_device)):
            yield _cable(view, loss)
        elif len(loss.ports) >= PORTS_MIN:
            yield _behind(view, loss, hub)
        elif len(loss.silent) >= SILENT_MIN and not loss.ports and _nobody_sees(view, loss.silent):
            yield _dead(view, loss)


def began_with(view: CorrelationView, loss: Loss, onset_ns: int) -> bool:
    """Whether it went away when something else did."""
    within_ns = view.config.across_ns(WINDOW_INTERVALS, (finding.cadence_s for finding in loss.found))
    return abs(loss.onset_ns - onset_ns) <= within_ns


def _beside(loss: Loss, death: Death) -> Cause:
    """Cables that nobody recorded, of a device that others show to be dead."""
    return cause_of(
        IncidentKind.DEVICE_DOWN,
        device(death.device),
        death.findings | frozenset(finding.id for finding in loss.ports.values()),
        f"{death.down} of {death.links} links of {death.device} are down, and {len(loss.ports)} ports elsewhere lost "
        "their carrier at the same time; what is behind these is not recorded",
    )


def _is_part(by_device: dict[str, list[ObjectRef]], hub: str, ports: int) -> bool:
    """Whether most of the other ends of one device's dark ports say so too: it is the device, whatever is silent."""
    own = len(by_device.get(hub, ()))
    return own >= PORTS_MIN and own <= 2 * (ports - own) <= 2 * own


def _part(view: CorrelationView, loss: Loss, hub: str, ports: int) -> Cause:
    primary = frozenset(finding.id for finding in loss.ports.values())
    what = f"{ports} ports of {hub}"
    reason = f"{what} and {len(loss.ports) - ports} elsewhere lost their carrier at once, and {hub} answers: its part"
    return cause_of(
        IncidentKind.DEVICE_DOWN,
        device(hub),
        primary,
        reason,
        factor=ALIVE_FACTOR,
        hold=HoldPolicy.INTERVAL,
        subject=what,
        action=f"Look at what these ports of {hub} have in common, as {hub} answers: line card, ASIC or power zone.",
    )


def _dead(view: CorrelationView, loss: Loss) -> Cause:
    names = list(loss.silent)
    known = [view.away[name] for name in names if name in view.away]  # the first one may be back already
    root = view.root(IncidentKind.DEVICE_DOWN, [*(device(name) for name in names), *known])
    gone = frozenset(names) - {root.name}
    dark = f"{len(loss.ports)} ports elsewhere lost their carrier" if loss.ports else "nothing else sees their links"
    if not gone:
        reason = f"{root.name} is silent and {dark} at the same time; what is behind these is not recorded"
        # A host may be the first of a rack; a switch that takes several ports with it is the whole of it.
        sure = view.graph.is_switch(root.name) and len(loss.ports) >= PORTS_MIN
        hold = _at_once(view, names) if sure or loss.is_whole else HoldPolicy.INTERVAL
        return cause_of(IncidentKind.DEVICE_DOWN, root, _ids(loss), reason, hold=hold, factor=_factor(loss))
    noun = _noun(view, names)
    return cause_of(
        IncidentKind.DEVICE_DOWN,
        root,
        _ids(loss),
        f"{len(names)} {noun} lost together, and {dark} at the same time. Nothing is known that they share: power, "
        "rack or switch; an inventory with racks, or LLDP, would name it",
        factor=_factor(loss),
        hold=_hold(view, loss, names),
        gone=gone,
        subject=hosts_together(root.name, gone | {root.name}, noun, view.graph.devices),
        action=f"Find out what these {noun} share (power, rack, switch), then reach each by its console.",
    )


def _hold(view: CorrelationView, loss: Loss, names: Sequence[str]) -> HoldPolicy:
    """How long several devices wait for others that went away with them."""
    if not loss.ports:
        return HoldPolicy.SILENCE
    return _at_once(view, names) if loss.is_whole else HoldPolicy.INTERVAL


def _at_once(view: CorrelationView, names: Iterable[str]) -> HoldPolicy:
    """The hold of what is whole: nothing larger is known to wait for, unless a rack is recorded."""
    known = (view.graph.devices.get(name) for name in names)
    return HoldPolicy.TICK if any(entity and entity.rack for entity in known) else HoldPolicy.NONE


def _factor(loss: Loss) -> float:
    return 1.0 if loss.ports else ALIVE_FACTOR


def _cable(view: CorrelationView, loss: Loss) -> Cause:
    one, other = sorted(loss.ports)
    return cause_of(
        IncidentKind.LINK_DOWN,
        link(one, other),
        _ids(loss),
        f"{one.name} and {other.name} lost their carrier at once; taken as the ends of one cable, as none is recorded",
        hold=HoldPolicy.NONE if _is_edge_cable(view, loss.by_device) else HoldPolicy.INTERVAL,
        devices=frozenset({one.device, other.device}),
    )


def _behind(view: CorrelationView, loss: Loss, hub: str) -> Cause:
    devices = sorted(loss.by_device)
    root = view.root(IncidentKind.DEVICE_DOWN, [device(name) for name in (hub, *devices)])
    others = f" and {len(devices) - 1} more devices" if len(devices) > 1 else ""
    what = f"what is behind {len(loss.ports)} ports of {root.name}{others}"
    return cause_of(
        IncidentKind.DEVICE_DOWN,
        root,
        frozenset(finding.id for finding in loss.ports.values()),
        f"{len(loss.ports)} ports of {', '.join(devices[:4])}{', …' if len(devices) > 4 else ''} lost their carrier at "
        "once: they lead to something that does not answer here. LLDP or an inventory would name it",
        factor=ALIVE_FACTOR,
        hold=HoldPolicy.SILENCE,
        subject=what,
    )


def _is_edge_cable(view: CorrelationView, names: Iterable[str]) -> bool:
    """Whether two devices that answer are a leaf and a host or storage server: no death takes a port of each with it. A
    dead leaf takes ports of hosts and spines, a dead host those of leaves."""
    roles = [view.graph.role(name) for name in names]
    return roles.count(Role.LEAF) == 1 and (Role.HOST in roles or Role.STORAGE in roles)


def _may_be_linked(view: CorrelationView, names: Sequence[str]) -> bool:
    """Whether two devices may have a cable between them: not two hosts, and not two leaves."""
    roles = [view.graph.role(name) for name in names]
    if len(names) != 2 or None in roles:
        return len(names) == 2
    edges = sum(map(view.graph.is_edge, names))
    return edges == 1 or (edges == 0 and roles.count(Role.LEAF) < 2)


def _nobody_sees(view: CorrelationView, silent: Iterable[str]) -> bool:
    """Whether no switch answers that could show whether these devices have a carrier, while most devices answer."""
    names, gone = view.graph.devices.keys(), set(silent)
    watched = any(view.graph.is_switch(name) for name in names - gone)
    return not watched and len(gone) <= view.config.silent_share * len(names)


def _noun(view: CorrelationView, names: Sequence[str]) -> str:
    roles = {view.graph.role(name) for name in names}
    return "hosts" if roles == {Role.HOST} else "devices"


def _ids(loss: Loss) -> frozenset[str]:
    return frozenset(finding.id for finding in loss.found)
