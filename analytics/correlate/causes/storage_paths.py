"""Clients that wait for storage while no target is to blame: what they have in common on the way to it.

All of them, and the server's own times are normal: the way near the server. All behind one switch: that switch. One
alone: its host. All of them, and the server states no times: the file system, which cannot be told from its network.
"""

from collections.abc import Iterable

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.storage import HARD_CONFIDENCE_MIN
from analytics.correlate.storage_clients import (
    AGREE_MIN,
    MEASURED_MIN,
    Clients,
    common_leaf,
    contradict,
    leaves_of,
    over_leaves,
    stated_slow,
    waiting_clients,
)
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy, Tier
from telemetry.objects import ObjectKind, ObjectRef, device

_QUEUE = "storage_queue_seconds_total"
_QUEUE_SHARE_MIN = 0.5  # of its time, that a client's requests wait before they are sent


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a file system; none while the server's own times are slow and clients do not contradict them."""
    for clients in waiting_clients(view):
        slow = stated_slow(view, clients)
        if not slow or contradict(view, clients):
            yield _cause(view, clients, slow)


def _cause(view: CorrelationView, clients: Clients, slow: list[Finding]) -> Cause:
    """slow: findings of the server's own times, which the clients contradict."""
    if len(clients.hosts) < AGREE_MIN:
        return _host(clients, slow)
    if leaf := common_leaf(view, clients):
        others = f"the {len(clients.mounted - view.graph.neighbours(leaf))} others that mount it are not"
        reason = f"{clients.count} of {clients.filesystem} wait, all behind {leaf}, and {others}"
        return _path(device(leaf), clients, slow, reason, f"{_who(clients)} behind {leaf} wait for storage")
    if 2 * len(clients.hosts) < clients.measured:
        reason = f"{clients.count} of {clients.filesystem} wait, and no part of their paths is theirs alone"
        return _path(_filesystem(clients), clients, slow, reason, f"{_who(clients)} wait for storage")
    if clients.server_share is None or clients.server_says_so:
        return _all(view, clients)
    near = _near_server(view, clients)
    where = f"what all share is the way near {near.name}" if near != _filesystem(clients) else "what all share is it"
    reason = f"{over_leaves(view, clients)} wait while its server's own times are normal: {where}"
    return _path(near, clients, slow, reason, f"{_who(clients)} wait for storage, its server does not")


def _host(clients: Clients, slow: list[Finding]) -> Cause:
    (host,) = clients.hosts
    if clients.measured < MEASURED_MIN:
        reason = f"{host} waits for {clients.filesystem}; too few other clients have times to compare"
    else:
        reason = f"{host} alone of {clients.measured} clients of {clients.filesystem} waits: its own way to storage"
    if any(map(_queues, clients.waits)):
        reason += ", most of the time in its own queue"
    return _path(device(host), clients, slow, reason, f"{host} alone waits for {clients.filesystem}")


def _all(view: CorrelationView, clients: Clients) -> Cause:
    """Clients over different paths agree; whether the server says so too, or states nothing of its own."""
    said = "and the server's own times say so" if clients.server_says_so else "the server states no times of its own"
    return cause_of(
        IncidentKind.SLOW_STORAGE,
        _filesystem(clients),
        frozenset(finding.id for finding in clients.waits),
        f"{over_leaves(view, clients)} wait, {said}",
        tier=Tier.DEPENDENT,
        hold=HoldPolicy.INTERVAL,
        devices=frozenset(clients.hosts),
        headline=f"file system {clients.filesystem} slow",
        action=f"Look at the servers of {clients.filesystem} and at their network: all of its clients wait.",
    )


def _path(root: ObjectRef, clients: Clients, slow: list[Finding], reason: str, headline: str) -> Cause:
    """As sure as the target's own cause would be that it takes the place of, which may be open already."""
    certain = any(finding.confidence >= HARD_CONFIDENCE_MIN for finding in slow)
    return cause_of(
        IncidentKind.STORAGE_PATH,
        root,
        frozenset(finding.id for finding in (*clients.waits, *slow)),
        reason,
        tier=Tier.HARD if certain else Tier.DEPENDENT,
        devices=frozenset(clients.hosts),
        headline=headline,
    )


def _near_server(view: CorrelationView, clients: Clients) -> ObjectRef:
    """The only link of the only server, else that server, else the switch that all share, else the file system."""
    if len(clients.servers) == 1:
        links = view.graph.links(clients.servers[0])
        return links[0] if len(links) == 1 else device(clients.servers[0])
    shared = (
        frozenset[str].intersection(*(leaves_of(view, name) for name in clients.servers)) if clients.servers else ()
    )
    return device(min(shared)) if len(shared) == 1 else _filesystem(clients)


def _filesystem(clients: Clients) -> ObjectRef:
    return ObjectRef(ObjectKind.FILESYSTEM, clients.filesystem)


def _who(clients: Clients) -> str:
    return f"{clients.count} of {clients.filesystem}"


def _queues(finding: Finding) -> bool:
    """Whether most of a client's time is spent before its requests are sent."""
    queued = next((each.value for each in finding.evidence if each.series.startswith(f"{_QUEUE}{{")), 0.0)
    return queued > _QUEUE_SHARE_MIN * finding.evidence[0].value
