"""A switch or host that died, or rebooted; hosts of a rack that died at once.

Being central does not make a device the cause: most of *its own* links must be down, or it must be silent as well.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from analytics.correlate.cause import AWAY, LINK, SILENCE, Cause, cause_of
from analytics.correlate.causes.siblings import Shared, hosts_by_rack, shared
from analytics.correlate.config import NS_PER_S
from analytics.correlate.repairs import repairs_gpu
from analytics.correlate.texts.clock import clock
from analytics.correlate.view import CorrelationView
from analytics.correlate.waves import LEARNED_MIN
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, device
from telemetry.topology import Role

RACK_MIN = 3  # fewer dead devices are no evidence about all of a rack
TOGETHER_MIN = 2  # hosts of a rack: a phase of its PDU takes every third one
ALIVE_FACTOR = 0.5  # a device that still reports has more likely lost its neighbours than gone down


@dataclass(frozen=True, slots=True)
class Death:
    """Why a device seems dead: ``down`` of its links are down, it may be silent, and the findings that show it."""

    device: str
    down: int
    links: int
    silent: bool
    alive: bool
    findings: frozenset[str]
    onset_ns: int


def deaths(view: CorrelationView) -> tuple[Death, ...]:
    """Devices that seem dead, by name. Several families ask for them: they are looked for once a step."""
    return view.once(_deaths)


def _deaths(view: CorrelationView) -> tuple[Death, ...]:
    down = _down_links(view)
    silent = {finding.object.device for finding in view.of(FindingKind.TARGET_SILENT)} - {""}
    suspects = sorted({name for link in down for name in view.graph.ends(link)} | silent)
    return tuple(death for name in suspects if (death := _death(view, name, down, name in silent)))


def _down_links(view: CorrelationView) -> dict[ObjectRef, list[Finding]]:
    links: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.LINK_DOWN):
        links[view.graph.link_of.get(finding.object, finding.object)].append(finding)
    return links


def _death(view: CorrelationView, name: str, down: dict[ObjectRef, list[Finding]], silent: bool) -> Death | None:
    links = view.graph.links(name)
    broken = [link for link in links if link in down]
    most = len(broken) >= 2 and len(broken) > view.config.links_down_share * len(links)
    if not most and not (silent and broken and len(broken) >= min(2, len(links))):
        return None
    own = view.on_device(name)
    about_links = [finding for link in broken for finding in down[link]]
    onset = min(finding.onset_ns for finding in about_links)
    alive = not silent and any(finding.observed_ns >= onset for finding in own if finding.kind not in SILENCE)
    also = {finding.id for finding in own if finding.kind in AWAY}
    findings = frozenset({finding.id for finding in about_links} | also)
    return Death(name, len(broken), len(links), silent, alive, findings, onset)


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Devices that are down, by the state of most of their links, and devices that came back."""
    for death in deaths(view):
        if _boots_with_rack(view, death):
            continue
        status = "it still answers" if death.alive else "it is silent" if death.silent else "it says nothing of it"
        why = status + _overdue(view, death.device)
        yield cause_of(
            IncidentKind.DEVICE_DOWN,
            device(death.device),
            death.findings,
            f"{death.down} of {death.links} links of {death.device} are down and {why}",
            factor=ALIVE_FACTOR if death.alive else 1.0,
        )
    yield from _together(view)
    for finding in view.of(FindingKind.DEVICE_REBOOTED):
        if only_rebooted(view, finding) or not _returns(view, finding.object.device):
            yield _reboot(view, finding)


def _together(view: CorrelationView) -> Iterable[Cause]:
    """Hosts of a rack that died at once, of which that is no chance; most of a rack is its power (``rack.py``)."""
    dead = {death.device: death for death in deaths(view) if not death.alive and not _boots_with_rack(view, death)}
    hosts = {name: death.onset_ns for name, death in dead.items() if view.graph.role(name) is Role.HOST}
    if len(hosts) < TOGETHER_MIN:
        return
    for found in shared(view, hosts, [hosts_by_rack(view)], TOGETHER_MIN):
        if not is_most(view, found.name, sum(name in dead for name in view.graph.rack(found.name))):
            yield _part_of_rack(view, found, dead)


def rack_of(view: CorrelationView, name: str) -> ObjectRef:
    """The rack of a device, as far as it is known."""
    known = view.graph.devices.get(name)
    return ObjectRef(ObjectKind.RACK, known.rack if known else "")


def is_most(view: CorrelationView, rack: str, dead: int) -> bool:
    """Whether so many dead devices of a rack are all that its power feeds, or nearly."""
    return dead >= max(RACK_MIN, view.config.rack_share * len(view.graph.rack(rack)))


def _part_of_rack(view: CorrelationView, found: Shared, dead: Mapping[str, Death]) -> Cause:
    known = [view.away[name] for name in found.failed if name in view.away]  # the first one may be back already
    root = view.root(IncidentKind.DEVICE_DOWN, [*(device(name) for name in found.failed), *known])
    gone = frozenset(found.failed) - {root.name}
    return cause_of(
        IncidentKind.DEVICE_DOWN,
        root,
        frozenset[str]().union(*(dead[name].findings for name in found.failed)),
        f"{len(found.failed)} of {found.of} hosts of {found.parent} went away at once, {found.chance}: a part that "
        "these have in common failed, such as a phase of its power",
        gone=gone,
        subject=f"{root.name} and {len(gone)} more host{'s' if len(gone) > 1 else ''} of {found.parent}",
        action=f"Check what feeds these hosts of {found.parent} (PDU phase, breaker), then each by its console.",
    )


def _boots_with_rack(view: CorrelationView, death: Death) -> bool:
    """Whether it went away with a rack that has power again, as its other devices show: servers take minutes to boot.
    The incident of the rack goes on until all are back."""
    root = view.away.get(death.device, rack_of(view, death.device))
    since_ns = view.firing_since(IncidentKind.RACK_POWER, root)
    return since_ns is not None and abs(death.onset_ns - since_ns) <= view.config.onset_slack_ns


def _overdue(view: CorrelationView, name: str) -> str:
    """Why a device that nobody used is named after all."""
    if name not in view.members:
        return ""
    wave, member = view.members[name]
    if not (member.quiet and member.overdue(view.now_ns)):
        return ""
    others = ""
    if len(wave.took_ns) >= LEARNED_MIN:
        others = f": the {len(wave.took_ns)} others of its wave took at most {wave.took_ns[-1] // NS_PER_S} s"
    return f"; {member.absence.idle or 'its use is not known'}, it was expected back by {clock(member.due_ns)}{others}"


def only_rebooted(view: CorrelationView, finding: Finding) -> bool:
    """Whether a device with an open incident of its own is back so soon that it only rebooted."""
    ref = device(finding.object.device)
    down_ns = view.firing_since(IncidentKind.DEVICE_DOWN, ref)
    alone = ref not in view.away.values()  # several that are lost together do not reboot by themselves
    return down_ns is not None and alone and finding.onset_ns - down_ns <= view.config.reboot_s * NS_PER_S


def _returns(view: CorrelationView, name: str) -> bool:
    """Whether its return belongs to an open incident: its death, its rack's, or a GPU fault that a reboot repairs."""
    return (
        name in view.away
        or view.is_firing(IncidentKind.DEVICE_DOWN, [device(name)])
        or view.is_firing(IncidentKind.RACK_POWER, [rack_of(view, name)])
        or repairs_gpu(view, name)
    )


def _reboot(view: CorrelationView, finding: Finding) -> Cause:
    """With what went away around it, but not with what goes away once it was back: then it is down."""
    name = finding.object.device
    back_ns = finding.onset_ns + view.config.onset_slack_ns
    again = {
        found for each in deaths(view) if each.device == name and each.onset_ns > back_ns for found in each.findings
    }
    ports = sorted({port for link in view.graph.links(name) for port in view.graph.ports(link)})
    about = [other for port in ports for other in view.about(port) if other.kind in LINK]
    own = [other for other in view.on_device(name) if other.kind in AWAY]
    near = {
        other.id for other in (*about, *own) if abs(other.onset_ns - finding.onset_ns) <= view.config.change_window_ns
    }
    near |= {
        other.id
        for other in view.about(device(name))
        if other.kind is FindingKind.SOFTWARE_CHANGED and other.onset_ns >= finding.onset_ns
    }
    return cause_of(
        IncidentKind.DEVICE_REBOOTED,
        device(name),
        frozenset({finding.id} | near - again),
        f"the counters of {name} started again",
    )
