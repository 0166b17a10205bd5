"""A part of a switch that took several of its links with it: a line card, an ASIC, a power zone.

The switch goes on answering and most of its links stay up, so it is not down. Links do not fail together by chance: of
64 that each fail once a month, three fail within 15 seconds once in 20,000 years (64·63·62/6 triples, each at a rate of
3·(15 s)²/(30 days)³).
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

from analytics.correlate.cause import Cause, cause_of
from analytics.correlate.causes.devices import ALIVE_FACTOR, deaths
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import HoldPolicy
from telemetry.objects import ObjectRef, device

LINKS_MIN = 3
NEIGHBOURS_MIN = 2  # all links to one neighbour may as well be its fault


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Switches that lost several links at once, of which none leads to a device that died."""
    gone = {death.device for death in deaths(view)}
    switches: defaultdict[str, dict[ObjectRef, list[Finding]]] = defaultdict(lambda: defaultdict(list))
    for finding in view.of(FindingKind.LINK_DOWN):
        link = view.graph.link_of.get(finding.object, finding.object)
        ends = view.graph.ends(link)
        if gone.isdisjoint(ends):
            for name in filter(view.graph.is_switch, ends):
                switches[name][link].append(finding)
    for name in sorted(switches):
        yield from _part(view, name, switches[name])


def _part(view: CorrelationView, name: str, down: dict[ObjectRef, list[Finding]]) -> Iterable[Cause]:
    links = _at_once(down, view.config.onset_slack_ns)
    neighbours = {end for link in links for end in view.graph.ends(link)} - {name}
    if len(links) < LINKS_MIN or len(neighbours) < NEIGHBOURS_MIN:
        return
    found = [finding for link in links for finding in down[link]]
    answering = {finding.object.device for finding in found}  # what reports a port is not dead
    sure = name in answering and len(answering & neighbours) >= NEIGHBOURS_MIN
    share = f"{len(links)} of {len(view.graph.links(name))} links of {name}"
    yield cause_of(
        IncidentKind.DEVICE_DOWN,
        device(name),
        frozenset(finding.id for finding in found),
        f"{share}{_slot(view, name, links)} went down at once and the others stay up: a part that these have in common "
        "failed",
        factor=ALIVE_FACTOR,
        hold=None if sure else HoldPolicy.INTERVAL,
        subject=share,
        action=f"Look at what these links of {name} have in common, as {name} answers: line card, ASIC or power zone.",
        part=frozenset(links),
    )


def _slot(view: CorrelationView, name: str, links: Sequence[ObjectRef]) -> str:
    """``, all of them Ethernet3/…``: of a chassis, whose ports are named by the slot of their line card; else ''."""
    ports = [port.name.partition("/")[2] for link in links for port in view.graph.ports(link) if port.device == name]
    slots = {port.rpartition("/")[0].partition("/")[0] for port in ports}
    return f", all of them {slots.pop()}/…," if len(slots) == 1 and "" not in slots else ""


def _at_once(down: dict[ObjectRef, list[Finding]], within_ns: int) -> Sequence[ObjectRef]:
    """The most links that went down within a window that begins with one of them; of two equal ones the earlier."""
    first = sorted((min(finding.onset_ns for finding in found), link) for link, found in down.items())
    times = [at for at, _ in first]
    ends = [bisect_right(times, at + within_ns) for at in times]
    start = max(range(len(first)), key=lambda start: ends[start] - start, default=0)
    return [link for _, link in first[start : ends[start]]] if first else []
