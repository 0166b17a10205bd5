"""Incidents for campaigns that a test writes."""

from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState, Severity
from telemetry.objects import ObjectRef


def incident(
    root: ObjectRef,
    kind: IncidentKind = IncidentKind.DEVICE_DOWN,
    *,
    key: str = "",
    onset_ns: int = 0,
    fired_ns: int = 0,
    gpu_seconds: float = 0.0,
) -> Incident:
    """A firing one. key: its id; by default its kind and root. fired_ns: also of this version."""
    return Incident(
        id=key or f"{kind}/{root}",
        kind=kind,
        root=root,
        state=IncidentState.FIRING,
        severity=Severity.CRITICAL,
        title=f"{root.name}: {kind}",
        onset_ns=onset_ns,
        opened_ns=onset_ns,
        updated_ns=fired_ns,
        fired_ns=fired_ns,
        resolved_ns=0,
        confidence=0.9,
        order_known=True,
        first_symptom="",
        evidence=(),
        alternatives=(),
        blast=BlastRadius(),
        gpu_seconds=gpu_seconds,
        findings=(),
        timeline=(),
        gaps=(),
        action="",
        runbook="",
    )
