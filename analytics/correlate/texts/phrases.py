"""Texts of an incident for people. Templates are data (``telemetry/kinds``); here names and numbers are filled in."""

from collections.abc import Collection, Iterable, Iterator, Set

from analytics.correlate import versions
from analytics.correlate.budget import Considered, LeftOut
from analytics.correlate.cause import Cause
from analytics.correlate.cluster.graph import Graph
from analytics.correlate.config import CorrelateConfig
from analytics.correlate.cost import STALLED, cut_off
from analytics.correlate.paths import jobs_behind, paths_left
from analytics.correlate.texts.clock import clock
from analytics.correlate.texts.standing import Standing, standing
from analytics.correlate.tracks import Track
from analytics.correlate.view import CorrelationView
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import BlastRadius, Severity
from telemetry.kinds import finding_kinds, incident_kinds
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.quantities import quantity
from telemetry.topology import UNKNOWN_INDEX, Gpu, Role

TITLE_MAX = 140
_JOB_MAX = 32  # characters of a job's id in a title: ids of pods are longer
LABEL = {Severity.CRITICAL: "CRIT", Severity.WARNING: "WARN", Severity.INFO: "INFO"}
ROLES = {Role.HOST: "hosts", Role.STORAGE: "storage servers"}


def short(ref: ObjectRef, graph: Graph | None = None) -> str:
    """A name for people. Of a GPU ``node1 GPU 3 (serial 1650321004242)``, as far as the graph knows it; without a
    serial the beginning of its UUID stands in its place."""
    if ref.kind is ObjectKind.GPU:
        host, _, uuid = ref.name.partition("/")
        known = graph.gpus.get(ref) if graph else None
        return known.label if known else Gpu(host, uuid, UNKNOWN_INDEX).label
    return f"job {ref.name}" if ref.kind is ObjectKind.JOB else ref.name


def fill(template: str, root: ObjectRef, graph: Graph) -> str:
    """Puts the names in place of ``{root}`` and ``{device}``."""
    text = template.replace("{root}", short(root, graph))
    return text.replace("{device}", root.device or root.name) if "{device}" in text else text


def title(view: CorrelationView, track: Track, blast: BlastRadius) -> str:
    """``[CRIT] pod1: PFC storm from leaf12/Ethernet48 — 38 GPUs, 2 jobs stalled``, at most 140 characters."""
    cause = track.cause
    pod = _pod(view, cause.root)
    what = cause.headline or _how_it_is(view, track)
    since = " since before it was first seen" if track.since_first_seen else ""
    head = f"[{LABEL[track.severity]}] {f'{pod}: ' if pod else ''}"
    tail = f"{since} — {_cost(view, track, blast)}"
    room = TITLE_MAX - len(head) - len(tail)
    return head + (what if len(what) <= room else what[: room - 1] + "…") + tail


def _how_it_is(view: CorrelationView, track: Track) -> str:
    """``spine4 dark since 13:40:05``, ``spine4 rebooted, back since 13:41:18``, ``link a--b was down, up since …``."""
    cause, row, now = track.cause, incident_kinds()[track.cause.kind], standing(view, track)
    if cause.change:
        who = _with_others(cause)
        return f"planned: {who}{_since(now, away=' dark', back=' back')}" if now else f"planned work on {who}"
    phrase = row.phrase if now is None else row.away if now.away else row.over
    what = phrase.replace("{root}", cause.subject) if cause.subject else fill(phrase, cause.root, view.graph)
    return what + _since(now, away="", back=", back" if row.away else ", up")


def action(view: CorrelationView, track: Track) -> str:
    """What to do first: what failed says, else its kind; of what is back by now to find out why."""
    cause, row, now = track.cause, incident_kinds()[track.cause.kind], standing(view, track)
    if now and not now.away and not cause.change and row.over_action:
        return fill(row.over_action, cause.root, view.graph)
    return cause.action or fill(row.action, cause.root, view.graph)


def _with_others(cause: Cause) -> str:
    others = len(cause.gone - {cause.root.name})
    return f"{short(cause.root)} and {others} more" if others else short(cause.root)


def _since(now: Standing | None, *, away: str, back: str) -> str:
    if now is None:
        return ""
    some = f", {now.back} of {now.back + now.away} back" if now.away and now.back else ""
    return f"{away if now.away else back} since {clock(now.since_ns)}{some}"


def fired(track: Track) -> str:
    """Why an incident opened; of what pages only once a job waits also who does."""
    text = f"fired: {track.cause.reason}"
    if track.since_first_seen:
        text += "; it was so when it was first seen: a known fault"
    elif track.cause.pages_without_waiting:
        return text
    waits = waiting(track) if track.job_impact else "no job shows that it waits, so nobody is paged"
    return f"{text}; {waits}"


def modules(graph: Graph, root: ObjectRef) -> str:
    """``; module INKCS123 of lot INNOLIGHT C-DQ8 2020-05-22 in leaf1/Ethernet4``: the serials of a port's or a link's
    modules with the lots that are known, '' where none is known."""
    if not graph.serials:
        return ""
    ports = [port for port in graph.ports(root) or (root,) if port in graph.serials]
    return "".join(f"; module {graph.serials[port]}{_of_lot(graph, port)} in {port.name}" for port in ports)


def _of_lot(graph: Graph, port: ObjectRef) -> str:
    lot = graph.lots.get(port)
    return f" of lot {lot}" if lot else ""


def _cost(view: CorrelationView, track: Track, blast: BlastRadius) -> str:
    """``32 GPUs, job 17 slowed by 34 %``: what waits; else what the cause reaches by topology."""
    root = track.cause.root
    if track.job_impact:
        return f"{_gpus(view.jobs.gpu_count(*track.job_impact))}{waiting(track)}"
    if not track.cause.pages_without_waiting:
        return f"no job waits, {len(blast.jobs)} in reach" if blast.jobs else "no job waits"
    if stopped := cut_off(view, track):
        return f"{_gpus(view.jobs.gpu_count(*stopped))}{_jobs(stopped)} cut off"
    if blast.jobs:
        return f"{_gpus(len(blast.gpus))}{_count(len(blast.jobs), 'job')} at risk"
    if blast.gpus:
        return f"{_count(len(blast.gpus), 'GPU')} reached"
    if left := paths_left(view, track) or jobs_behind(view, track):
        return left
    links = f"{_count(len(blast.links), 'link')}, " if blast.links and root.kind is not ObjectKind.LINK else ""
    return f"{links}no job reached"


def _gpus(number: int) -> str:
    """``32 GPUs, ``; '' where none is known."""
    return f"{_count(number, 'GPU')}, " if number else ""


def waiting(track: Track) -> str:
    """``job 17 ended, 2 jobs slowed by up to 34 %``: who waits; by name where it is one."""
    return ", ".join(_waiting(track))


def without_normal(job_id: str, share: float) -> str:
    """Why a job counts as waiting that cannot show it."""
    return f"job {job_id} began under this and has no normal yet; its port was paused {100 * share:.0f} % of the time"


def _waiting(track: Track) -> Iterator[str]:
    left = {job_id: share for job_id, share in track.job_impact.items() if job_id not in track.ended_jobs}
    stalled = {job_id: share for job_id, share in left.items() if share >= STALLED}
    slowed = {job_id: share for job_id, share in left.items() if 0.0 < share < STALLED}
    repeating = {job_id for job_id, share in left.items() if not share}
    if track.ended_jobs:
        yield f"{_jobs(track.ended_jobs)} ended"
    if stalled:
        yield f"{_jobs(stalled)} stalled"
    if slowed:
        most = f"{'up to ' if len(slowed) > 1 else ''}{100 * max(slowed.values()):.0f} %"
        yield f"{_jobs(slowed)} slowed by {most}"
    if repeating:  # what it loses by that is too little for its work to show, or not known yet
        yield f"{_jobs(repeating)} send{'s' if len(repeating) == 1 else ''} again what is dropped"


def _jobs(job_ids: Collection[str]) -> str:
    if len(job_ids) > 1:
        return f"{len(job_ids)} jobs"
    (name,) = job_ids
    return f"job {name if len(name) <= _JOB_MAX else name[: _JOB_MAX - 1] + '…'}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _pod(view: CorrelationView, root: ObjectRef) -> str:
    names = [root.device] if root.device else list(view.graph.ends(root))
    if root.kind is ObjectKind.RACK:
        names = [*view.graph.rack(root.name)]
    devices = [view.graph.devices.get(name) for name in (*names, view.graph.server_of(root))]
    pods = {known.pod for known in devices if known and known.pod}
    return min(pods, default="")


def symptom(finding: Finding, graph: Graph) -> str:
    """``leaf1/Ethernet4 is paused by its peer (83 % against 1 %)``."""
    values = ""
    if finding.kind is FindingKind.SOFTWARE_CHANGED:
        values = f" ({versions.text(versions.new(finding))})"
    elif finding.evidence:
        value = finding.evidence[0]
        against = "" if value.normal is None else f" against {quantity(value.normal, value.unit)}"
        values = f" ({quantity(value.value, value.unit)}{against})"
    return f"{short(finding.object, graph)} {finding_kinds()[finding.kind].text}{values}"


def gaps(view: CorrelationView) -> tuple[str, ...]:
    """What telemetry is missing, by role: ``2 of 64 switches silent``."""
    return (*_silent(view), *_unrecorded(view))


def _silent(view: CorrelationView) -> Iterator[str]:
    if not view.silent:
        return
    groups: dict[str, list[str]] = {}
    for name, known in view.graph.devices.items():
        groups.setdefault(ROLES.get(known.role, "switches"), []).append(name)
    for noun, members in sorted(groups.items()):
        if view.silent & set(members):
            yield _missing(noun, members, view.silent)


def _unrecorded(view: CorrelationView) -> Iterator[str]:
    """What nobody has recorded of the cluster, so that an incident may name less than it could."""
    graph, jobs = view.graph, view.jobs
    if not graph.devices:
        return
    if view.cluster.inferred:
        yield f"roles of {_count(view.cluster.inferred, 'device')} inferred from what they send"
    if not graph.has_links:
        yield "no cable recorded: LLDP or an inventory would say what is behind a port"
    if not graph.number_of_racks:
        yield "no rack recorded: an inventory would say what shares power and air"
    if not jobs.running and not jobs.ended:
        yield "no job recorded: Slurm or Kubernetes would say who waits"


def of_device(considered: Considered, device: str, config: CorrelateConfig) -> tuple[str, ...]:
    """That an incident of this device may lack some of its findings, as correlation has not looked at them."""
    if device not in considered.devices:
        return ()
    return (f"{device} has over {config.device_findings_max:,} findings of one kind: the rest waits",)


def of_cluster(considered: Considered, config: CorrelateConfig) -> tuple[str, ...]:
    """Which findings any incident may lack for the same reason."""
    texts = []
    if considered.left_out.get(LeftOut.CLUSTER_LIMIT):
        texts.append(f"over {config.correlated_findings_max:,} findings are active: the rest waits")
    if considered.left_out.get(LeftOut.TICK_LIMIT, 0) > config.changed_findings_max:  # fewer follow at once
        texts.append(f"over {config.changed_findings_max:,} findings wait to be looked at: the rest follows")
    return tuple(texts)


def _missing(noun: str, members: Iterable[str], silent: Set[str]) -> str:
    known = list(members)
    return f"{len(silent & set(known))} of {len(known)} {noun} silent"
