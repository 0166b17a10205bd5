"""``python -m benchmarks.incident_size``: bytes of one incident of 1,600 GPUs, on the bus and as the API answers it."""

import hashlib
import uuid

from common.units import NS_PER_S
from fabricscope.api import views
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence
from telemetry.incidents import BlastRadius, Incident, IncidentKind, IncidentState, Severity, TimelineEntry
from telemetry.objects import port

HOSTS, GPUS_PER_HOST, JOBS, TIMELINE, PAGE = 200, 8, 4, 50, 50
_AT_NS = 1_769_896_800 * NS_PER_S


def large_incident() -> Incident:
    """A pause storm that every GPU of 200 hosts waits for, with a finding for each, and the longest timeline."""
    gpus = [
        f"node{host:03d}/GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{host}/{index}')}"
        for host in range(HOSTS)
        for index in range(GPUS_PER_HOST)
    ]
    links = [f"leaf{n % 32:02d}/Ethernet{n // 32 * 4}--node{n // 8:03d}/mlx5_{n % 8}" for n in range(len(gpus))]
    root = port("leaf00", "Ethernet0")
    evidence = Evidence('fabric_port_pfc_pause_seconds_total{device="leaf00",port="Ethernet0"}', 0.61, 0.0, "ratio")
    return Incident(
        id="inc-1f6d3c2a9b1d7e55",
        kind=IncidentKind.SLOW_RECEIVER,
        root=root,
        state=IncidentState.FIRING,
        severity=Severity.CRITICAL,
        title="[CRIT] pod1: PFC storm from leaf00/Ethernet0 — 1,600 GPUs, 4 jobs stalled",
        onset_ns=_AT_NS,
        opened_ns=_AT_NS,
        updated_ns=_AT_NS,
        fired_ns=_AT_NS,
        resolved_ns=0,
        confidence=0.93,
        order_known=True,
        first_symptom="leaf00/Ethernet0 is paused by its host for 61 % of the time",
        evidence=(evidence,) * 5,
        alternatives=(),
        blast=BlastRadius(
            tuple(sorted(links)),
            tuple(f"node{host:03d}" for host in range(HOSTS)),
            tuple(sorted(gpus)),
            tuple(str(4711 + job) for job in range(JOBS)),
        ),
        gpu_seconds=96_000.0,
        findings=tuple(sorted(hashlib.blake2b(name.encode(), digest_size=10).hexdigest() for name in gpus)),
        timeline=(TimelineEntry(_AT_NS, root, "pause begins"),) * TIMELINE,
        gaps=(),
        action="Drain node000 and look at its PCIe link.",
        runbook="slow_receiver",
    )


def main() -> None:
    incident = large_incident()
    record, answer = len(encode_record(incident)), len(views.Incident.of(incident).model_dump_json())
    print(f"one incident of {len(incident.blast.gpus):,} GPUs, whole, as on the bus: {record:>12,} bytes")
    print(f"one incident of {len(incident.blast.gpus):,} GPUs, as the API answers:   {answer:>12,} bytes")
    print(f"the stream's picture of {PAGE} of them, before: {PAGE * record:,} bytes; now: {PAGE * answer:,} bytes")


if __name__ == "__main__":
    main()
