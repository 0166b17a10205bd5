"""A queue that drops where all others pause: its buffer profile is that of a lossy queue, or PFC is off for it.

With PFC a switch pauses its senders long before a queue is full. So one that drops packet after packet while its switch
pauses nobody is set up in another way than the rest (Guo et al., RDMA over Commodity Ethernet at Scale, SIGCOMM 2016,
section 6.2: a buffer parameter that one model of switch had otherwise). What is lost around a link that goes down or
comes back belongs to that link.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from analytics.correlate.cause import AWAY, JOB_WAITS, LINK, Cause, cause_of
from analytics.correlate.causes.leftover import senders, waiting_for
from analytics.correlate.symptoms import effect_of
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.kinds import Effect, HoldPolicy, Tier

_OF_REPEATS = frozenset({Effect.RETRANSMISSION, Effect.TRAFFIC_LOST, Effect.POWER_LOST})
DROPPING_SCORE = 2.0  # of ``lossless_drops``: a hundred packets a second


def propose(view: CorrelationView) -> Iterable[Cause]:
    """One cause a switch that pauses nobody: the port that drops most is its root."""
    dropping: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in view.of(FindingKind.LOSSLESS_DROPS):
        if finding.score >= DROPPING_SCORE:
            dropping[finding.object.device].append(finding)
    pausing = _pausing(view) if dropping else frozenset[str]()
    for switch in sorted(dropping.keys() - pausing):
        if not _is_disturbed(view, switch):
            yield _cause(view, switch, dropping[switch])


def _cause(view: CorrelationView, switch: str, found: Sequence[Finding]) -> Cause:
    ranked = sorted(found, key=lambda finding: (-finding.score, finding.object))
    root = view.root(IncidentKind.CONGESTION, [finding.object for finding in ranked])
    several = f"{len(found)} lossless queues of {switch} drop"
    what = several if len(found) > 1 else f"lossless queue of {root.name} drops"
    return cause_of(
        IncidentKind.CONGESTION,
        root,
        frozenset(finding.id for finding in (*found, *_shown_by_jobs(view, found))),
        f"{what} packets and {switch} pauses nobody: compare buffer profile and PFC with those of other ports",
        tier=Tier.HARD,
        hold=HoldPolicy.INTERVAL,  # what broke there may be about to show
        devices=frozenset({switch}),
        headline=what,
        action=f"Compare buffer profile and PFC of {switch if len(found) > 1 else root.name} with those of others.",
    )


def _shown_by_jobs(view: CorrelationView, found: Sequence[Finding]) -> Iterator[Finding]:
    """That jobs wait which send through these ports, and that their adapters repeat what was dropped."""
    yield from waiting_for(view, found, view.of(*sorted(JOB_WAITS)))
    jobs = {job_id for finding in found for job_id in senders(view, finding.object)}
    since_ns = min(finding.onset_ns for finding in found) - view.config.onset_slack_ns
    for finding in view.of(FindingKind.DEVIATION):
        repeats = finding.onset_ns >= since_ns and effect_of(finding) in _OF_REPEATS
        if repeats and not jobs.isdisjoint(view.jobs.of(finding.object)):
            yield finding


def _is_disturbed(view: CorrelationView, switch: str) -> bool:
    """Whether a link of a switch or of one beside it is broken, or one of these is away: traffic that finds another way
    is dropped, too, and so is what was on its way."""
    near = {switch, *view.graph.neighbours(switch)}
    return any(each.kind in LINK | AWAY for name in near for each in view.on_device(name))


def _pausing(view: CorrelationView) -> frozenset[str]:
    """Switches that pause somebody, or are paused themselves, as either end says."""
    found = view.of(FindingKind.PFC_PAUSE_SENT, FindingKind.PFC_PAUSE_RECEIVED)
    peers = (view.graph.peers.get(finding.object) for finding in found)
    return frozenset(ref.device for ref in (*(finding.object for finding in found), *filter(None, peers)))
