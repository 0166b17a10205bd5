"""Devices that went away: since when, whether somebody used them, and when they were back.

Nobody waits for a host without a job. So whether there was one when it went decides whether its absence is work that
nobody announced, or a failure.
"""

from collections.abc import Iterable

from analytics.correlate import cadence, versions
from analytics.correlate.absence import STARTS_S, Absence
from analytics.correlate.causes.devices import deaths
from analytics.correlate.texts.clock import clock
from analytics.correlate.view import CorrelationView
from analytics.detectors.telemetry.gpu_memory import EVIDENCE
from common.units import NS_PER_S, to_ns
from telemetry.findings import Finding, FindingKind
from telemetry.topology import Intent, NodeState, Role

CONFIDENCE_MIN = 0.9  # less is the silence of one exporter of a device whose other targets answer
RESOLUTION_NS = NS_PER_S  # Slurm's times are whole seconds: a job that dies with its host may seem to end before it
WITNESSES_MIN = 3
# Of a GPU that a process uses, more than a CUDA context has (0.5 GB on an H100), less than any training (assumption).
PROCESS_BYTES = 2.0**30
LEAVES_INTERVALS = 2.0  # a host whose links go dark at the other end is not read for as long, if it went with them


def update(absences: dict[str, Absence], view: CorrelationView) -> None:
    """Brings what is known up to the view's time, and forgets devices that are no more."""
    away = {name: (found, True) for name, found in _away(view)}
    away |= {name: (found, False) for name, found in _leaving(view) if name not in away}
    for name in sorted(away):
        found, sure = away[name]
        absence = absences.get(name)
        if absence is None or absence.back_ns:
            absence = absences[name] = _began(view, found, absence.back_ns if absence else 0)
        absence.sure = sure
        if sure and view.now_ns - absence.since_ns <= view.config.onset_slack_ns:  # later its links may go up and down
            absence.here_ns = max(absence.here_ns, _here_ns(view, found))
        _note_use(view, name, absence)
    for name, absence in list(absences.items()):
        if name not in view.graph.devices or (name not in away and not absence.sure):
            del absences[name]  # its links were dark while it answered: no absence
        elif name not in away and not absence.back_ns:
            absence.back_ns = view.now_ns
    _note_reboots(absences, view)
    _note_software(absences, view)
    _forget(absences, view)


def _away(view: CorrelationView) -> Iterable[tuple[str, list[Finding]]]:
    """Devices that are dead by their links and their silence; without a known link by their silence alone."""
    for death in deaths(view):
        if not death.alive and death.device in view.graph.devices:
            yield death.device, [view.by_id[found] for found in sorted(death.findings)]
    silent = {
        name: finding
        for finding in view.of(FindingKind.TARGET_SILENT)
        if (name := finding.object.device) in view.graph.devices and finding.confidence >= CONFIDENCE_MIN
    }
    if len(silent) <= view.config.silent_share * len(view.graph.devices):  # more is what collects them
        yield from ((name, [finding]) for name, finding in silent.items() if not view.graph.links(name))


def _leaving(view: CorrelationView) -> Iterable[tuple[str, list[Finding]]]:
    """Hosts whose links went dark a moment ago at the switch, without a word of it by themselves."""
    dark: dict[str, list[Finding]] = {}
    for finding in view.of(FindingKind.LINK_DOWN):
        peer = view.graph.peers.get(finding.object)
        recent_ns = view.config.intervals_ns(LEAVES_INTERVALS, cadence.of_finding(view, finding))
        if peer and view.graph.role(peer.device) is Role.HOST and view.now_ns - finding.onset_ns <= recent_ns:
            dark.setdefault(peer.device, []).append(finding)
    for name, found in dark.items():
        if not any(each.kind is FindingKind.LINK_DOWN for each in view.on_device(name)):
            yield name, found


def _began(view: CorrelationView, found: list[Finding], back_ns: int) -> Absence:
    """back_ns: when it was back from the time before; what is left of that one is no sign of this one."""
    new_ns = (finding.onset_ns for finding in found if finding.onset_ns > back_ns)
    return Absence(max(back_ns, _here_ns(view, found)), min(new_ns, default=back_ns))


def _here_ns(view: CorrelationView, found: list[Finding]) -> int:
    """Until when it was surely there: the samples before the first ones that show its absence.

    Of several that saw it, the second latest: one that lost a sample seems to have seen it for longer.
    """
    gone = [each for each in found if each.kind in (FindingKind.LINK_DOWN, FindingKind.TARGET_SILENT)]
    seen = sorted(each.onset_ns - view.config.intervals_ns(1.0, each.cadence_s) for each in gone)
    last_ns = seen[-2] if len(seen) >= WITNESSES_MIN else min(seen, default=0)
    return min(last_ns, min((each.onset_ns for each in gone), default=0))


def _note_use(view: CorrelationView, name: str, absence: Absence) -> None:
    """What is known by now about the time when it went: polls of a scheduler come late."""
    if view.graph.role(name) is not Role.HOST:
        absence.in_use = absence.in_use or _cuts_off(view, name, absence.since_ns)  # jobs that stop with it end later
        return
    absence.in_use, absence.idle = False, ""
    nodes = view.cluster.nodes
    last_ns = _last_used_ns(view, name, absence.since_ns)
    absence.in_use = last_ns is None or last_ns > absence.here_ns - RESOLUTION_NS
    if absence.in_use:
        return
    state = nodes.states.get(name)
    if state is not None and nodes.since_ns[name] <= absence.since_ns:
        absence.idle = wanted_text(state, nodes.since_ns[name])
        if state.intent is not Intent.REBOOT:  # which has an end of its own
            absence.wanted_ns = view.now_ns
    elif nodes.jobs_known:
        absence.idle = f"without a job since {clock(last_ns)}" if last_ns else "without a job"
    elif (used_bytes := _gpu_memory(view, name)) is not None:
        absence.in_use = used_bytes > PROCESS_BYTES
        absence.idle = "" if absence.in_use else "without a process on its GPUs"


def _cuts_off(view: CorrelationView, name: str, since_ns: int) -> bool:
    """Whether a job that ran stops with a leaf: one on several hosts, as it uses every NIC of each."""
    running = (view.jobs.running[job_id] for job_id in view.jobs.behind(name)) if view.graph.is_switch(name) else ()
    return any(len(job.nodes) > 1 and job.started_ns <= since_ns for job in running)


def _gpu_memory(view: CorrelationView, name: str) -> float | None:
    """What any GPU of a host had in use when it was last heard of, in bytes; None where nothing says so."""
    shown = [
        each.value
        for finding in view.on_device(name)
        if finding.kind is FindingKind.TARGET_SILENT
        for each in finding.evidence
        if each.series.startswith(EVIDENCE)
    ]
    return max(shown, default=None)


def _last_used_ns(view: CorrelationView, name: str, since_ns: int) -> int | None:
    """When the newest job on a host ended, 0 where none is known; None while one runs there. What began after
    ``since_ns``, when it went away, shows that it is back."""
    if any(view.jobs.running[job_id].started_ns <= since_ns for job_id in view.jobs.on_device(name)):
        return None
    ended = view.cluster.nodes.ended.get(name, ())
    return max((view.job_ends.get(job_id, seen_ns) for seen_ns, job_id in ended), default=0)


def wanted_text(state: NodeState, since_ns: int) -> str:
    """``drained by root since 11:50:00: kernel update``."""
    by = f" by {state.author}" if state.author else ""
    why = f": {state.reason}" if state.reason else ""
    return f"{str(state.intent).replace('_', ' ')}{by} since {clock(since_ns)}{why}"


def _note_reboots(absences: dict[str, Absence], view: CorrelationView) -> None:
    """Devices that were back before anybody missed them."""
    for finding in view.of(FindingKind.DEVICE_REBOOTED):
        name = finding.object.device
        known = absences.get(name)
        if name not in view.graph.devices or (known and (not known.back_ns or finding.onset_ns <= known.back_ns)):
            continue
        here_ns = finding.onset_ns - view.config.intervals_ns(1.0, finding.cadence_s)
        if known and here_ns <= known.back_ns + view.config.change_window_ns:
            continue  # its counters show so only now
        absence = absences[name] = Absence(here_ns, finding.onset_ns)
        _note_use(view, name, absence)
        absence.back_ns = view.now_ns


def _note_software(absences: dict[str, Absence], view: CorrelationView) -> None:
    """What devices came back with; their exporters start one after the other."""
    for name in absences.keys() & view.versions.keys():
        absence = absences[name]
        until_ns = absence.back_ns + to_ns(STARTS_S) if absence.back_ns else 0
        new = [each for each in view.versions[name].values() if absence.here_ns < each.since_ns <= until_ns]
        absence.software = versions.text(new)


def _forget(absences: dict[str, Absence], view: CorrelationView) -> None:
    """What is over, once nothing more of its role has happened for as long as a wave may pause."""
    config, newest_ns = view.config, dict[Role | None, int]()
    for name, absence in absences.items():
        role = view.graph.role(name)
        at_ns = absence.back_ns or min(view.now_ns, absence.since_ns + config.away_ns)
        newest_ns[role] = max(at_ns, newest_ns.get(role, 0))
    for name, absence in list(absences.items()):
        if absence.back_ns and view.now_ns - newest_ns[view.graph.role(name)] > config.wave_pause_ns:
            del absences[name]
