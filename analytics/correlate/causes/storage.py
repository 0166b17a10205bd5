"""A slow storage target. Targets of one server share a cause; a much slower one delays all of its file system.

Where clients have times of their own, a target is blamed once those on different paths agree (``storage_clients.py``).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from analytics.correlate.cause import LINK, STORAGE, Cause, cause_of
from analytics.correlate.causes.at_once import at_once
from analytics.correlate.causes.devices import deaths
from analytics.correlate.storage_clients import Clients, agree, contradict, over_leaves, stated_slow, waiting_clients
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy, Tier, finding_kinds
from telemetry.objects import ObjectKind, ObjectRef, device

HARD_CONFIDENCE_MIN = 0.6  # less may be clients that wait behind a link that loses packets
OWN_SCORE_MIN = 2.0  # less may be a target that waits for another one, whose finding is still to come
_THROUGHPUT = "storage_throughput"
SERVERS_MIN = 3  # slow at once; two may be two faults
DELAYED_SHARE = 0.5  # a target with less than this share of the worst score only waits for the worst


def propose(view: CorrelationView) -> Iterable[Cause]:
    """The slowest targets of each file system, by server; no cause are targets that only wait for them, and those that
    clients contradict (``storage_paths.py``)."""
    filesystems: defaultdict[str, list[Finding]] = defaultdict(list)
    waiting = [(each, slow) for each in waiting_clients(view) if (slow := stated_slow(view, each))]
    clients = {finding.id: each for each, slow in waiting for finding in slow}
    contradicted = {finding.id for each, slow in waiting if contradict(view, each) for finding in slow}
    for finding in view.of(*sorted(STORAGE)):
        if finding.id in contradicted:
            continue
        filesystems[view.graph.filesystem_of(finding.object)].append(finding)
    dead = frozenset(death.device for death in deaths(view)) if filesystems else frozenset[str]()
    for filesystem in sorted(filesystems):
        yield from _filesystem(view, filesystems[filesystem], dead, clients)


def _filesystem(
    view: CorrelationView, found: list[Finding], dead: frozenset[str], clients: Mapping[str, Clients]
) -> Iterable[Cause]:
    # Files are striped: clients that wait for one target request little from the others. So collapsed throughput makes
    # a target a cause only where none is slower than its siblings.
    candidates = [finding for finding in found if finding.detector != _THROUGHPUT] or found
    slowest = min(candidates, key=lambda finding: (-finding.score, finding.onset_ns, finding.object))
    # Slightly slow targets of other servers wait too: only one that is clearly slow is a cause of its own.
    least = max(OWN_SCORE_MIN, DELAYED_SHARE * slowest.score)
    server = view.graph.server_of(slowest.object)
    heavy = [
        finding
        for finding in candidates
        if finding.score >= (DELAYED_SHARE * slowest.score if view.graph.server_of(finding.object) == server else least)
    ]
    servers: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in heavy:
        servers[view.graph.server_of(finding.object) or finding.object.name].append(finding)
    reached = {name: not _cut_off(view, name, dead) for name in servers}
    if whole := _whole(view, servers, found, reached=all(reached.values())):
        yield whole
        return
    ranked = sorted(servers, key=lambda name: (-max(finding.score for finding in servers[name]), name))
    kept = {finding.id for finding in heavy}
    delayed = [finding for finding in found if finding.id not in kept]
    for position, name in enumerate(ranked):
        waiting = next((clients[finding.id] for finding in servers[name] if finding.id in clients), None)
        yield _cause(view, name, servers[name], delayed if position == 0 else [], waiting, reached=reached[name])


def _whole(
    view: CorrelationView, servers: Mapping[str, Sequence[Finding]], found: Sequence[Finding], *, reached: bool
) -> Cause | None:
    """The file system, of whose servers several got slow at once: no server fails with another one by chance. While its
    incident is open it is one, until a single server is left of it."""
    known = [of_server for name, of_server in servers.items() if name in view.graph.devices]
    if len(known) < 2:
        return None
    filesystem = ObjectRef(ObjectKind.FILESYSTEM, view.graph.filesystem_of(found[0].object))
    began = (min(of_server, key=lambda each: (each.onset_ns, each.id)) for of_server in known)
    most = max(at_once(began, view.config.onset_slack_ns), key=len)
    if len(most) < SERVERS_MIN and not view.is_firing(IncidentKind.SLOW_STORAGE, [filesystem]):
        return None
    of = len({target.server for target in view.graph.targets.values() if target.filesystem == filesystem.name})
    share = f"{len(known)} of {of} servers"
    certain = reached and max(finding.confidence for finding in found) >= HARD_CONFIDENCE_MIN
    return cause_of(
        IncidentKind.SLOW_STORAGE,
        filesystem,
        frozenset(finding.id for finding in found).union(*(_paused(view, name) for name in servers)),
        f"{share} of {filesystem.name} got slow at once: the load, the metadata or the network that they share",
        tier=Tier.HARD if certain else Tier.DEPENDENT,
        hold=HoldPolicy.NONE if reached else HoldPolicy.INTERVAL,
        devices=frozenset(servers),
        headline=f"file system {filesystem.name} slow, {share}",
        action=f"Look at what the servers of {filesystem.name} share before any disk: their load, metadata, network.",
    )


def _paused(view: CorrelationView, server: str) -> frozenset[str]:
    """The findings of pauses that end at a server, which its slow targets explain."""
    return frozenset[str]().union(*(origin.findings for origin in view.origins if origin.device == server))


def _cause(
    view: CorrelationView,
    server: str,
    found: list[Finding],
    delayed: list[Finding],
    waiting: Clients | None,
    *,
    reached: bool,
) -> Cause:
    """waiting: the clients that do. reached: whether clients have a good way to the server; without one they wait for
    the path."""
    ranked = [finding.object for finding in sorted(found, key=lambda f: (-f.score, f.onset_ns, f.object))]
    root = view.root(IncidentKind.SLOW_STORAGE, ranked + _siblings(view, found))
    also = f", with {len(ranked) - 1} more targets of {server}" if len(set(ranked)) > 1 else ""
    several = waiting is not None and agree(view, waiting)
    certain = (several or max(finding.confidence for finding in found) >= HARD_CONFIDENCE_MIN) and reached
    clear = max(finding.score for finding in found) >= OWN_SCORE_MIN
    asked = all(finding.kind is FindingKind.METADATA_STORM for finding in found)  # it may answer as fast as ever
    shows = finding_kinds()[FindingKind.METADATA_STORM if asked else FindingKind.STORAGE_SLOW].text
    return cause_of(
        IncidentKind.SLOW_STORAGE,
        root,
        frozenset({finding.id for finding in (*found, *delayed)}) | _paused(view, server),
        f"{root.name} {shows}{also}{_said_by(view, waiting)}",
        tier=Tier.HARD if certain else Tier.DEPENDENT,
        hold=HoldPolicy.NONE if clear and reached else HoldPolicy.INTERVAL,
        headline=f"metadata storm at storage target {root.name}" if asked else "",
        action=f"Find the job or program whose files are opened and closed at {root.name}." if asked else "",
    )


def _said_by(view: CorrelationView, waiting: Clients | None) -> str:
    """``; 12 of 14 clients on 4 leaves wait, and the server's own times say so``; '' where none shows that it waits."""
    if waiting is None:
        return ""
    also = ", and the server's own times say so" if agree(view, waiting) else ""
    return f"; {over_leaves(view, waiting)} wait{also}"


def _cut_off(view: CorrelationView, server: str, dead: frozenset[str]) -> bool:
    """Whether a link of the server is down or loses packets, or a switch that it is connected to is down or was just
    now, or a port between switches stands still, which spreads: its clients wait for the path then, whatever its
    targets do."""
    links, switches = view.graph.links(server), sorted(view.graph.neighbours(server))
    ends = (port for link in links for port in view.graph.ports(link))
    if any(finding.kind in LINK for port in ends for finding in view.about(port)):
        return True
    storms = (finding.object for finding in view.of(FindingKind.PAUSE_STORM))
    if any(view.graph.is_switch(port.device) and not view.graph.faces_edge(port) for port in storms):
        return True
    refs = [device(name) for name in switches]
    return not dead.isdisjoint(switches) or any(
        view.is_firing(kind, refs) for kind in (IncidentKind.DEVICE_DOWN, IncidentKind.DEVICE_REBOOTED)
    )


def _siblings(view: CorrelationView, found: list[Finding]) -> list[ObjectRef]:
    """Targets that those with collapsed throughput may wait for: one may be the root of an open incident already."""
    if any(finding.detector != _THROUGHPUT for finding in found):
        return []
    systems = {finding.object.name.partition("/")[0] for finding in found}
    return [ref for ref in sorted(view.graph.targets) if ref.name.partition("/")[0] in systems]
