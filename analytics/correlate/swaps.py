"""Cables that were swapped, and remembered once their incident is over: to put them right they are pulled once more."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from analytics.correlate.cause import Cause
from analytics.correlate.cluster.graph import Graph
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectKind, ObjectRef, link

OUTAGES = (IncidentKind.LINK_DOWN, IncidentKind.LINK_FLAPPING)
_SWAPS_MAX = 200  # the newest


@dataclass(frozen=True, slots=True)
class Swap:
    """Two links whose incident ended while their cables were swapped. root: of that incident. ended_ns: when."""

    root: ObjectRef
    other: ObjectRef
    ended_ns: int


def swapped_with(graph: Graph, cable: ObjectRef) -> ObjectRef | None:
    """The link that has changed places with this one: each end of either leads to an end of the other one now."""
    ends = graph.ports(cable)
    if len(ends) != 2:
        return None
    here, there = (graph.peers.get(end) for end in ends)
    if here is None or there is None or here == ends[1]:
        return None
    return link(here, there)


def cables_now(graph: Graph, swap: Swap) -> frozenset[ObjectRef]:
    """The links that its ports have by now."""
    ports = (*graph.ports(swap.root), *graph.ports(swap.other))
    return frozenset(graph.link_of[port] for port in ports if port in graph.link_of)


def after(swaps: Sequence[Swap], graph: Graph, cause: Cause, now_ns: int) -> list[Swap]:
    """The swaps once an incident has ended: with its own, where the cables are still so; without it, where they are as
    they were."""
    others = [swap for swap in swaps if swap.root != cause.root]
    of_links = cause.kind in OUTAGES and cause.root.kind is ObjectKind.LINK
    other = swapped_with(graph, cause.root) if of_links else None
    if other is not None and other in cause.links:
        others.append(Swap(cause.root, other, now_ns))
    return others[-_SWAPS_MAX:]


def roots_at(swaps: Iterable[Swap], graph: Graph, ref: ObjectRef) -> list[ObjectRef]:
    """Roots of the incidents of swaps to whose ports a link leads."""
    return [swap.root for swap in swaps if ref in cables_now(graph, swap)]
