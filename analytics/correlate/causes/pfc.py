"""Back-pressure with an origin: slow receiver, incast, pause loop."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping

from analytics.correlate.cause import QUEUES, STORAGE, Cause, cause_of
from analytics.correlate.pauses import End, Origin
from analytics.correlate.symptoms import follows
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy, Tier
from telemetry.objects import ObjectRef

BUSY_SHARE = 0.25  # of the links of a host, more than which it pauses when it is busy itself (assumption)
CONGESTED_SHARE = 0.5  # a port with less than this share of the worst one's congestion only shares its switch's buffer


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Where the pauses begin: at a host, at a congested port of a switch, or nowhere in a loop."""
    at_switch: defaultdict[str, list[Origin]] = defaultdict(list)
    at_host: defaultdict[str, dict[ObjectRef, list[Origin]]] = defaultdict(dict)
    for origin in view.origins:
        match origin.end:
            case End.EDGE if not view.graph.is_edge(origin.device):
                continue  # the device behind the port is not in the topology: only a symptom
            case End.EDGE:
                at_host[origin.device].setdefault(origin.port, []).append(origin)
            case End.SWITCH:
                at_switch[origin.device].append(origin)
            case End.CYCLE:
                yield from _loop(view, origin)
    slow = {view.graph.server_of(finding.object) for finding in view.of(*sorted(STORAGE))}
    for host in sorted(at_host.keys() - slow):  # a slow target explains why its server pauses its senders
        root = _root(view, IncidentKind.SLOW_RECEIVER, at_host[host], lambda port: _paused(view, port))
        yield view.kept(_slow_receiver, host, host, at_host[host], root)
    held = frozenset(origin.port for origin in view.origins)
    queues: defaultdict[str, set[FindingKind]] = defaultdict(set)
    for finding in view.of(*QUEUES):
        queues[finding.object.device].add(finding.kind)
    for switch in sorted(queues):
        if switch in at_switch or len(queues[switch]) > 1:
            yield from _incast(view, switch, at_switch.get(switch, []), held)


def _slow_receiver(view: CorrelationView, host: str, ports: Mapping[ObjectRef, list[Origin]], root: ObjectRef) -> Cause:
    """A host that pauses its leaf ports; one cause, however many. root: the one that it is named by.

    Where more than a quarter of its NICs do, none of them is broken: it is the host that takes too little. Memory and
    IOMMU of healthy hosts are as busy for tens of seconds (Agarwal et al., HotNets 2022), so that pages once a job has
    waited for longer.
    """
    found = [origin for port in sorted(ports) for origin in ports[port]]
    devices = frozenset[str]().union(*(origin.devices for origin in found))
    several, links = len(ports) > 1, len(view.graph.links(host))
    what = f"{len(ports)} of its {links} leaf ports" if several else root.name
    return cause_of(
        IncidentKind.SLOW_RECEIVER,
        root,
        _findings(found),
        f"{host} pauses {what} and nothing pauses {host}: the pauses of {_count(devices)} end there",
        devices=devices,
        subject=f"{len(ports)} ports to {host}" if several else "",
        wait_hold=HoldPolicy.BUSY if several and len(ports) > BUSY_SHARE * links else None,
    )


def _loop(view: CorrelationView, origin: Origin) -> Iterable[Cause]:
    """A cycle of pauses in which ports stand still: a deadlock never ends by itself (Hu et al., HotNets 2016).

    Short pauses form cycles in health too, as each of them ends before the next one needs it. So most of the ports must
    have been paused all the time without sending; some may be of a device that does not report it.
    """
    storms = [finding for finding in view.of(FindingKind.PAUSE_STORM) if finding.object in origin.ports]
    standing = {finding.object for finding in storms}
    if 2 * len(standing) < len(origin.ports):
        return
    yield cause_of(
        IncidentKind.PAUSE_LOOP,
        origin.port,
        origin.findings | {finding.id for finding in storms},
        f"the pauses of {_count(origin.devices)} form a cycle through {origin.port.name} with no way out, "
        f"and {len(standing)} of its {len(origin.ports)} ports send nothing",
        devices=origin.devices,
    )


def _incast(view: CorrelationView, switch: str, found: list[Origin], held: frozenset[ObjectRef]) -> Iterable[Cause]:
    """Egress ports towards hosts that congest while nothing pauses them: the worst, and those about as congested.

    A hard cause with pauses that end at its switch, which belong to the worst; without pauses a port itself needs two
    kinds of evidence. A full buffer is shared by all ports of a switch, so what is far less congested is a symptom.
    held: ports that must not send, which are congested by what holds them.
    """
    ports: defaultdict[ObjectRef, list[Finding]] = defaultdict(list)
    for finding in view.on_device(switch):
        if finding.kind in QUEUES and finding.object not in held and view.graph.faces_edge(finding.object):
            ports[finding.object].append(finding)
    twice = {port for port, on in ports.items() if len({finding.kind for finding in on}) > 1}
    backed = {port: on for port, on in ports.items() if found or port in twice}
    if not backed:
        return
    root = _root(view, IncidentKind.INCAST, backed, lambda port: _congestion(backed[port]))
    yield _incast_into(view, root, backed[root], found)
    least = CONGESTED_SHARE * _congestion(backed[root])
    for port in sorted(twice - {root}):
        if _congestion(backed[port]) >= least:
            yield _incast_into(view, port, backed[port], [])


def _incast_into(view: CorrelationView, root: ObjectRef, on: list[Finding], found: list[Origin]) -> Cause:
    """on: what congests at the port. found: the pauses that end at its switch, none where another port is worse."""
    switch = root.device
    return cause_of(
        IncidentKind.INCAST,
        root,
        _findings(found) | {finding.id for finding in on},
        f"the queue towards {view.graph.peers[root].device if root in view.graph.peers else root.name} is congested, "
        + (f"{switch} pauses its senders and is not paused itself" if found else "and nothing pauses it"),
        tier=Tier.HARD if found else Tier.SOFT,
        devices=frozenset[str]({switch}).union(*(origin.devices for origin in found)),
    )


def _root(
    view: CorrelationView, kind: IncidentKind, ports: Collection[ObjectRef], strength: Callable[[ObjectRef], float]
) -> ObjectRef:
    """The port that a cause is named by: of those that began when a job began to wait the strongest, else of all of
    them. An incident that fires keeps its root, except one that nobody was paged for: its page would name what was a
    line on a board before the wait."""
    if len(ports) == 1:
        return next(iter(ports))
    timely = {port for port in ports if _began_with_wait(view, port)}
    ranked = sorted(ports, key=lambda port: (port not in timely, -strength(port), port))
    known = view.root(kind, ranked)
    return ranked[0] if (kind, known) in view.unpaged and ranked[0] in timely else known


def _began_with_wait(view: CorrelationView, port: ObjectRef) -> bool:
    """Whether a job of the host at a port began to wait when what congests or pauses the port began or changed."""
    since = view.began_to_wait(port)
    found = [*_holding(view, port), *(each for each in view.about(port) if each.kind in QUEUES)] if since else []
    onsets, cadences_s = sorted(each.onset_ns for each in found), [each.cadence_s for each in found]
    return any(follows(view.config, onsets, each, *cadences_s, view.config.interval_s) for each in since)


def _paused(view: CorrelationView, port: ObjectRef) -> float:
    """How much a port is paused, by either end, in units of the least that a finding needs."""
    return max([each.score for each in _holding(view, port)], default=0.0)


def _holding(view: CorrelationView, port: ObjectRef) -> Iterable[Finding]:
    """Pauses that keep a port from sending, as either end says."""
    peer = view.graph.peers.get(port)
    yield from (each for each in view.about(port) if each.kind is FindingKind.PFC_PAUSE_RECEIVED)
    yield from (each for each in (view.about(peer) if peer else ()) if each.kind is FindingKind.PFC_PAUSE_SENT)


def _congestion(findings: list[Finding]) -> float:
    """Ranks ports: a long queue is stronger evidence than its marks."""
    return sum(finding.score * (2.0 if finding.kind is FindingKind.QUEUE_CONGESTED else 1.0) for finding in findings)


def _findings(found: list[Origin]) -> frozenset[str]:
    return frozenset[str]().union(*(origin.findings for origin in found))


def _count(devices: frozenset[str]) -> str:
    return f"{len(devices)} devices"
