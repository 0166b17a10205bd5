"""What is unhealthy in the fabric now, worst first: what detectors find, and which incident explains it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from telemetry.findings import Finding, FindingState
from telemetry.incidents import Incident, IncidentState, Severity
from telemetry.kinds import finding_kinds
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.quantities import quantity

_SHOWN = (ObjectKind.DEVICE, ObjectKind.PORT, ObjectKind.LINK, ObjectKind.GPU, ObjectKind.STORAGE_TARGET)


@dataclass(frozen=True, slots=True)
class Fault:
    """One unhealthy object. is_root: of an open incident; else it is explained by ``incident``, or by none ('').

    device: that it is or belongs to, '' for a link, which has two. severity: of that incident; None where no incident
    explains it.
    """

    object: ObjectRef
    device: str
    text: str
    onset_ns: int
    score: float
    incident: str = ""
    severity: Severity | None = None
    is_root: bool = False


def faults(incidents: Iterable[Incident], findings: Iterable[Finding], servers: Mapping[str, str]) -> list[Fault]:
    """One for each object: roots, then what incidents explain, then the rest; by severity, then by score.

    servers: the device that serves each storage target, by the target's name.
    """
    open_ones = [one for one in incidents if one.state is not IncidentState.RESOLVED]
    explains = {finding: one for one in open_ones for finding in one.findings}
    found: dict[ObjectRef, Fault] = {}
    active = [one for one in findings if one.state is FindingState.ACTIVE and one.object.kind in _SHOWN]
    for finding in sorted(active, key=lambda one: -one.score):
        device = _device(finding.object, servers)
        found.setdefault(finding.object, _fault(finding, device, explains.get(finding.id)))
    for one in open_ones:
        if one.root.kind in _SHOWN:
            score = found[one.root].score if one.root in found else 0.0
            text = found[one.root].text if one.root in found else str(one.kind).replace("_", " ")
            device = _device(one.root, servers)
            found[one.root] = Fault(one.root, device, text, one.onset_ns, score, one.id, one.severity, is_root=True)
    return sorted(found.values(), key=_worst_first)


def _device(found: ObjectRef, servers: Mapping[str, str]) -> str:
    return servers.get(found.name, "") if found.kind is ObjectKind.STORAGE_TARGET else found.device


def _fault(finding: Finding, device: str, incident: Incident | None) -> Fault:
    shown = finding.object, device, describe(finding), finding.onset_ns, finding.score
    return Fault(*shown) if incident is None else Fault(*shown, incident.id, incident.severity)


def describe(finding: Finding) -> str:
    """``is paused by its peer (61 %, usually 0 %)``."""
    text = finding_kinds()[finding.kind].text
    if not finding.evidence:
        return text
    first = finding.evidence[0]
    usual = "" if first.normal is None else f", usually {quantity(first.normal, first.unit)}"
    return f"{text} ({quantity(first.value, first.unit)}{usual})"


def _worst_first(fault: Fault) -> tuple[object, ...]:
    rank = -1 if fault.severity is None else fault.severity.rank
    return -rank, not fault.is_root, -fault.score, fault.object
