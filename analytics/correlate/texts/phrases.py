"""What an incident says to people. Texts are data (``words.yaml``); here they get their objects filled in."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files

import yaml
from pydantic import TypeAdapter

from analytics.correlate.causes.cause import SILENCE, Cause
from analytics.correlate.config import NS_PER_S
from analytics.correlate.cost import STALLED
from analytics.correlate.evidence import View
from telemetry.findings import Finding, FindingKind
from telemetry.incidents import BlastRadius, IncidentKind, Severity
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.topology import Role

TITLE_MAX = 140
LABEL = {Severity.CRITICAL: "CRIT", Severity.WARNING: "WARN", Severity.INFO: "INFO"}
SYMPTOM = {
    FindingKind.PFC_PAUSE_RECEIVED: "is paused by its peer",
    FindingKind.PFC_PAUSE_SENT: "pauses its peer",
    FindingKind.ECN_MARKING: "marks far more packets than normal",
    FindingKind.QUEUE_CONGESTED: "has a queue near the pause threshold",
    FindingKind.LOSSLESS_DROPS: "drops on a lossless queue",
    FindingKind.PAUSE_STORM: "is in a pause storm",
    FindingKind.PFC_WITHOUT_ECN: "pauses its senders without marking",
    FindingKind.ECMP_IMBALANCE: "loads its uplinks unevenly",
    FindingKind.BGP_SESSION: "lost a BGP session",
    FindingKind.LINK_DOWN: "is down",
    FindingKind.LINK_FLAPPING: "flaps",
    FindingKind.LINK_ERRORS: "has link errors",
    FindingKind.LINK_SLOW: "runs below its rated speed",
    FindingKind.OVERHEATED: "gets too warm",
    FindingKind.PART_FAILED: "has a failed part",
    FindingKind.TARGET_SILENT: "is silent",
    FindingKind.TARGET_FROZEN: "repeats its telemetry",
    FindingKind.DEVICE_REBOOTED: "restarted its counters",
    FindingKind.GPU_THROTTLED: "is throttled",
    FindingKind.GPU_XID: "reported an XID error",
    FindingKind.GPU_LOST: "vanished",
    FindingKind.GPU_ECC: "has memory errors",
    FindingKind.GPU_ROW_REMAP: "remaps rows of its memory",
    FindingKind.GPU_NVLINK_ERRORS: "has NVLink errors",
    FindingKind.GPU_PCIE: "has a degraded PCIe link",
    FindingKind.GPU_HUNG: "hangs",
    FindingKind.STRAGGLER: "is unlike its peers",
    FindingKind.JOB_STALLED: "is stalled",
    FindingKind.JOB_SLOWED: "works less than it always did",
    FindingKind.STORAGE_SLOW: "answers slowly",
    FindingKind.METADATA_STORM: "gets many times its usual metadata operations",
    FindingKind.CHECKPOINT_LATE: "has a late checkpoint",
    FindingKind.CHECKPOINT_OVERDUE: "has written no checkpoint for too long",
    FindingKind.CHECKPOINT_COLLIDING: "writes its checkpoint while another job does",
    FindingKind.CAPACITY: "will be full soon",
    FindingKind.WEAR: "wears out",
    FindingKind.DEVIATION: "is unlike its own normal",
}
ROLES = {Role.HOST: "hosts", Role.STORAGE: "storage servers"}


@dataclass(frozen=True, slots=True)
class Words:
    """Templates of one kind of incident; ``{root}`` and ``{device}`` are filled in."""

    phrase: str
    action: str
    runbook: str


@cache
def words() -> dict[IncidentKind, Words]:
    """All of ``words.yaml``: an entry for each kind of incident."""
    text = files("analytics.correlate.texts").joinpath("words.yaml").read_bytes()
    return TypeAdapter(dict[IncidentKind, Words]).validate_python(yaml.load(text, Loader=yaml.CSafeLoader))


def short(ref: ObjectRef) -> str:
    """A name for a headline: GPU UUIDs are cut to what tells them apart."""
    if ref.kind is ObjectKind.GPU:
        host, _, uuid = ref.name.partition("/")
        return f"{host}/{uuid[:12]}"
    return f"job {ref.name}" if ref.kind is ObjectKind.JOB else ref.name


def fill(template: str, root: ObjectRef) -> str:
    """Puts the names in place of ``{root}`` and ``{device}``."""
    return template.replace("{root}", short(root)).replace("{device}", root.device or root.name)


def title(view: View, cause: Cause, severity: Severity, blast: BlastRadius, felt: Mapping[str, float]) -> str:
    """``[CRIT] pod1: PFC storm from leaf12/Ethernet48 — 38 GPUs, 2 jobs stalled``, at most 140 characters."""
    pod = _pod(view, cause.root)
    what = fill(words()[cause.kind].phrase, cause.root)
    head, tail = f"[{LABEL[severity]}] {f'{pod}: ' if pod else ''}", f" — {_cost(view, cause.root, blast, felt)}"
    room = TITLE_MAX - len(head) - len(tail)
    return head + (what if len(what) <= room else what[: room - 1] + "…") + tail


def _cost(view: View, root: ObjectRef, blast: BlastRadius, felt: Mapping[str, float]) -> str:
    """``32 GPUs, 1 job slowed by 34 %``: of jobs that wait; else what the cause reaches by topology."""
    if felt:
        gpus = {ref for job_id in felt for ref in view.jobs.gpus(job_id)}
        return ", ".join([_count(len(gpus), "GPU"), *_waiting(felt)])
    if blast.jobs:
        return f"{_count(len(blast.gpus), 'GPU')}, {_count(len(blast.jobs), 'job')} at risk"
    if blast.gpus:
        return f"{_count(len(blast.gpus), 'GPU')} reached"
    links = f"{_count(len(blast.links), 'link')}, " if blast.links and root.kind is not ObjectKind.LINK else ""
    return f"{links}no job reached"


def _waiting(felt: Mapping[str, float]) -> Iterator[str]:
    stalled = [share for share in felt.values() if share >= STALLED]
    slowed = [share for share in felt.values() if share < STALLED]
    if stalled:
        yield f"{_count(len(stalled), 'job')} stalled"
    if slowed:
        most = f"{'up to ' if len(slowed) > 1 else ''}{100 * max(slowed):.0f} %"
        yield f"{_count(len(slowed), 'job')} slowed by {most}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _pod(view: View, root: ObjectRef) -> str:
    names = [root.device] if root.device else list(view.graph.ends(root))
    if root.kind is ObjectKind.RACK:
        names = [*view.graph.rack(root.name)]
    pods = {known.pod for name in (*names, view.server(root)) if (known := view.graph.devices.get(name)) and known.pod}
    return min(pods, default="")


def clock(at_ns: int) -> str:
    """``08:30:00``, UTC."""
    return datetime.fromtimestamp(at_ns // NS_PER_S, tz=UTC).strftime("%H:%M:%S")


def symptom(finding: Finding) -> str:
    """``leaf1/Ethernet4 is paused by its peer (0.83 against 0.01 ratio)``."""
    told = ""
    if finding.evidence:
        value = finding.evidence[0]
        against = "" if value.normal is None else f" against {value.normal:.4g}"
        told = f" ({value.value:.4g}{against} {value.unit})"
    return f"{short(finding.object)} {SYMPTOM[finding.kind]}{told}"


def gaps(view: View) -> tuple[str, ...]:
    """What telemetry is missing, by role: ``2 of 64 switches silent``."""
    names = {finding.object.device for finding in view.of(*sorted(SILENCE))} - {""}
    groups: dict[str, list[str]] = {}
    for name, known in view.graph.devices.items():
        groups.setdefault(ROLES.get(known.role, "switches"), []).append(name)
    return tuple(_missing(noun, members, names) for noun, members in sorted(groups.items()) if names & set(members))


def _missing(noun: str, members: Iterable[str], silent: set[str]) -> str:
    known = list(members)
    return f"{len(silent & set(known))} of {len(known)} {noun} silent"
