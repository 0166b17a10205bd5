"""Devices that go and come back in turn, and hosts that nobody used: nobody is paged until one of them is overdue."""

from collections.abc import Iterable
from dataclasses import replace

from analytics.correlate.absence import STARTS_S
from analytics.correlate.cause import AWAY, SILENCE, Cause, cause_of
from analytics.correlate.repairs import repairs_gpu
from analytics.correlate.texts.clock import clock
from analytics.correlate.view import CorrelationView
from analytics.correlate.waves import Member, Wave
from common.units import to_ns
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import IncidentKind
from telemetry.objects import ObjectRef, device
from telemetry.topology import Role

FACTOR = 1.9  # above what any of its members could be by itself, below a change that somebody announced
SETTLE_INTERVALS = 6.0  # after a device is back: until its links and counters are as before
PLURALS = {Role.HOST: "hosts", Role.STORAGE: "storage servers", Role.LEAF: "leaves", Role.SPINE: "spines"}
# What a device shows that goes and comes back; a GPU that is missing afterwards is a fault.
SHOWN = AWAY | {FindingKind.DEVIATION, FindingKind.SOFTWARE_CHANGED}
REMAINS = frozenset({FindingKind.DEVICE_REBOOTED, FindingKind.DEVIATION, FindingKind.SOFTWARE_CHANGED})


def propose(view: CorrelationView) -> Iterable[Cause]:
    """Waves that are going on, each with the findings about its devices that came with their absence."""
    for wave in view.waves:
        quiet = _expected(view, wave)
        found = {finding.id for member in quiet for finding in _about(view, member)}
        if not found:
            continue
        root = view.root(IncidentKind.DEVICE_REBOOTED, [device(each.name) for each in quiet])
        yield cause_of(
            IncidentKind.DEVICE_REBOOTED,
            root,
            frozenset(found),
            _reason(next(each for each in quiet if each.name == root.name)),
            factor=FACTOR,
            gone=frozenset(each.name for each in quiet) - {root.name},
            headline=_headline(view, wave, quiet),
            action="Nothing to do: nobody waits for it, and what is not back in time is paged.",
            unused=True,
            keep_s=view.config.wave_pause_s,
        )


def refreshed(view: CorrelationView, cause: Cause) -> Cause:
    """The cause of a wave of which nothing is away now, with how it stands."""
    known = view.members.get(cause.root.name) if cause.unused else None
    quiet = _expected(view, known[0]) if known else []
    return replace(cause, headline=_headline(view, known[0], quiet)) if known and quiet else cause


def _expected(view: CorrelationView, wave: Wave) -> list[Member]:
    """Those that are back, or not late. What somebody announced has an end of its own, and a host that is back from the
    repair of its GPU belongs to that incident."""
    return [
        each
        for each in wave.members
        if each.quiet
        and not each.overdue(view.now_ns)
        and not (each.absence.back_ns and repairs_gpu(view, each.name))
        and not view.announced(view.surroundings(device(each.name)), each.absence.since_ns)
    ]


def _about(view: CorrelationView, member: Member) -> Iterable[Finding]:
    """Findings about a device and the ports of its links that began while it was away, and are not left from it."""
    name, absence = member.name, member.absence
    ports: set[ObjectRef] = {port for link in view.graph.links(name) for port in view.graph.ports(link)}
    far = [finding for port in sorted(ports) if port.device != name for finding in view.about(port)]
    from_ns = absence.since_ns - view.config.onset_slack_ns
    for finding in (*view.on_device(name), *far):
        if finding.kind in SHOWN and from_ns <= finding.onset_ns and _belongs(view, absence.back_ns, finding):
            yield finding


def _belongs(view: CorrelationView, back_ns: int, finding: Finding) -> bool:
    """Whether it may still come from an absence that ended at ``back_ns``, 0: that goes on."""
    if not back_ns:
        return True
    settle_ns = view.config.across_ns(SETTLE_INTERVALS, [finding.cadence_s])
    if finding.kind in SILENCE | {FindingKind.SOFTWARE_CHANGED}:
        settle_ns = max(settle_ns, to_ns(STARTS_S))
    if finding.onset_ns > back_ns + settle_ns:
        return False
    return finding.kind in REMAINS or view.now_ns <= back_ns + settle_ns


def _reason(first: Member) -> str:
    absence = first.absence
    if absence.idle:
        return f"{first.name} was {absence.idle}: no job waits for it"
    if absence.software:
        return f"{first.name} came back with {absence.software}, and nobody is known to have used it: planned work"
    return "others of its role went and came back: no job waits for it"


def _headline(view: CorrelationView, wave: Wave, quiet: list[Member]) -> str:
    """``rolling reboot of 12 hosts, 10 back, the others by 10:05:00``; of one device what it does alone."""
    away = [each for each in quiet if not each.absence.back_ns]
    due_ns = max((each.due_ns for each in away), default=0)
    by = f" by {clock(due_ns)}" if due_ns else ""
    if len(quiet) == 1:
        only = quiet[0]
        why = f" ({only.absence.idle})" if only.absence.idle else ""
        new = f" with {only.absence.software}" if only.absence.software else ""
        return f"{only.name} away{why}, expected back{by}" if away else f"{only.name} was away{why}, and is back{new}"
    rest = f", the others expected{by}" if by else ""
    return f"rolling reboot of {len(quiet)} {PLURALS[wave.role]}, {len(quiet) - len(away)} back{rest}"
