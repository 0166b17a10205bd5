"""Incidents for the tests of the stage."""

from dataclasses import replace
from typing import Any

from telemetry import objects
from telemetry.findings import Evidence
from telemetry.incidents import BlastRadius, Hypothesis, Incident, IncidentKind, IncidentState, Severity

S = 1_000_000_000
T0 = 1_780_000_000 * S
PORT = objects.port("leaf1", "Ethernet4")

_FIRING = Incident(
    id="inc-1",
    kind=IncidentKind.SLOW_RECEIVER,
    root=PORT,
    state=IncidentState.FIRING,
    severity=Severity.WARNING,
    title="[WARN] pod1: slow receiver behind leaf1:Ethernet4, 8 GPUs, 1 job stalled",
    onset_ns=T0,
    opened_ns=T0 + 2 * S,
    updated_ns=T0 + 10 * S,
    fired_ns=T0 + 10 * S,
    resolved_ns=0,
    confidence=0.9,
    order_known=True,
    first_symptom="leaf1/Ethernet4 received 80,000 pauses a second",
    evidence=(
        Evidence('port_pfc_pause_received_frames_total{device="leaf1",port="Ethernet4"}', 81234.5, 3.0, "frames/s"),
        Evidence('port_queue_bytes{device="leaf1",port="Ethernet4"}', 9.1e6, None, "bytes"),
    ),
    alternatives=(Hypothesis(IncidentKind.INCAST, PORT, 0.2, "only one sender"),),
    blast=BlastRadius(nodes=("node1",), gpus=("node1/GPU-0", "node1/GPU-1"), jobs=("4711",)),
    gpu_seconds=512.0,
    findings=("f1", "f2"),
    timeline=(),
    gaps=("2 of 64 switches silent",),
    action="Drain node1 and check its PCIe link",
    runbook="docs/runbooks/slow_receiver.md",
)


def incident(**changes: Any) -> Incident:
    """A firing incident with some fields changed; ``at_s`` sets ``updated_ns`` in seconds from T0."""
    if "at_s" in changes:
        changes["updated_ns"] = T0 + int(changes.pop("at_s") * S)
    return replace(_FIRING, **changes)


def resolved(at_s: float, **changes: Any) -> Incident:
    """The same, resolved at that time."""
    return incident(state=IncidentState.RESOLVED, at_s=at_s, resolved_ns=T0 + int(at_s * S), **changes)
