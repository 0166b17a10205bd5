"""A cluster of 512 GPUs with three faults at once, as the tour has it: long names and texts, four pods, storage."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from bus.base import Bus, Message
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.incidents import BlastRadius, Hypothesis, Incident, IncidentKind, Severity, TimelineEntry
from telemetry.objects import ObjectKind, ObjectRef, gpu, job, port
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.starvation import GpuLoss, HostLosses
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, StorageTarget, TopologyFact
from tests.unit.fabricscope.api.traffic import eventually, incident
from tests.unit.fabricscope.api.wall_cluster import EVERY_S, NS, RATED, RECEIVED, SENT, TENSOR, publish_findings
from tests.unit.traffic import publish_batches, publish_incidents

JOBS = ("pretrain-llm", "finetune-moe", "vision-pretrain")
PODS, HOSTS, GPUS = 4, 64, 8
ROUNDS = 40
FAULT_AT = 30
UUID = "GPU-c3aed4df-8ec2-bad5-8e21-ecac1cd31169"
STORAGE = ObjectRef(ObjectKind.STORAGE_TARGET, "scratch/OST0001")
TEMPERATURE = series_key("gpu_temperature_celsius", {"device": "node5", "gpu": UUID})
PAUSE = series_key(
    "fabric_port_pfc_pause_seconds_total", {"device": "leaf3", "direction": "rx", "port": "Ethernet12", "priority": "3"}
)
OPERATIONS = {
    "device": "oss1",
    "fs": "scratch",
    "op": "read",
    "side": "server",
    "system": "lustre",
    "target": "OST0001",
}
SECONDS = series_key("storage_operation_duration_seconds_sum", OPERATIONS)
COUNT = series_key("storage_operation_duration_seconds_count", OPERATIONS)


def entities() -> Iterator[Entity]:
    for number in range(32):
        yield Device(f"spine{number}", Role.SPINE)
    yield Device("leaf90", Role.LEAF, "storage")
    yield Device("oss1", Role.STORAGE, "storage")
    yield Link("leaf90", "Ethernet0", "spine0", "Ethernet900", RATED)
    yield Link("leaf90", "Ethernet4", "oss1", "mlx5_0", RATED)
    yield StorageTarget("scratch", "OST0001", "oss1")
    for number in range(1, HOSTS + 1):
        pod = f"pod{1 + (number - 1) * PODS // HOSTS}"
        node, leaf = f"node{number}", f"leaf{number}"
        if number % 2:
            yield Device(leaf, Role.LEAF, pod)
            yield Link(leaf, "Ethernet0", f"spine{number % 32}", f"Ethernet{number}", RATED)
        yield Device(node, Role.HOST, pod, f"r{number}")
        yield Link(
            leaf if number % 2 else f"leaf{number - 1}",
            f"Ethernet{4 * (2 + number % 3)}" if number != 4 else "Ethernet12",
            node,
            "mlx5_0",
            RATED,
        )
        for index in range(GPUS):
            yield Gpu(node, UUID if (number, index) == (5, 3) else f"GPU-{number:08x}-{index}", index)
    for place, name in enumerate(JOBS):
        yield Job(
            str(4711 + place), tuple(f"node{n}" for n in range(1 + place, HOSTS + 1, 3)), name=name, started_ns=NS
        )


def rounds(now_ns: int) -> Iterator[SampleBatch]:
    began = FAULT_AT
    for number in range(ROUNDS):
        at_ns = now_ns - (ROUNDS - number) * EVERY_S * NS
        fault = max(0, number - began)
        for host in range(1, HOSTS + 1):
            work = (0.37 if host % 3 else 0.22) * (0.452 if fault else 1)
            keys = [series_key(TENSOR, {"device": f"node{host}", "gpu": f"GPU-{host:08x}-{i}"}) for i in range(4)]
            values = [work] * 4
            if host == 5:
                keys, values = [*keys, TEMPERATURE], [*values, 52.7 + 2 * (number % 2) + min(18, 6 * fault)]
            yield batch(f"dcgm/node{host}", f"node{host}", keys, number, at_ns, values)
        for leaf in range(1, HOSTS + 1, 2):
            ports = ["Ethernet0", "Ethernet4", "Ethernet8", "Ethernet12"]
            keys = [series_key(m, {"device": f"leaf{leaf}", "port": p}) for p in ports for m in (RECEIVED, SENT)]
            values = [number * EVERY_S * 40e9 / 8] * len(keys)
            if leaf == 3:
                keys, values = [*keys, PAUSE], [*values, 0.439 * EVERY_S * fault]
            yield batch(f"gnmi/leaf{leaf}", f"leaf{leaf}", keys, number, at_ns, values)
        done = 1100 * EVERY_S * min(number, began) + 376 * EVERY_S * fault
        spent = 0.0223 * 1100 * EVERY_S * min(number, began) + 0.775 * 376 * EVERY_S * fault
        yield batch("lustre/oss1", "oss1", [SECONDS, COUNT], number, at_ns, [spent, done])


def batch(target: str, device: str, keys: list[str], number: int, at_ns: int, values: list[float]) -> SampleBatch:
    table, collection = SeriesTable(target, device, tuple(keys)), Collection(1, number, at_ns, 0.01)
    return SampleBatch(
        table, collection, np.full(len(keys), at_ns), np.arange(len(keys), dtype=np.uint32), np.array(values)
    )


def incidents(now_ns: int) -> list[Incident]:
    onset = now_ns - (ROUNDS - FAULT_AT - 1) * EVERY_S * NS
    nodes = tuple(f"node{n}" for n in range(1, HOSTS + 1))
    everybody = BlastRadius(
        (), nodes, tuple(f"{node}/GPU-{i}" for node in nodes for i in range(GPUS)), ("4711", "4712", "4713")
    )
    base = replace(incident(), onset_ns=onset, opened_ns=onset + NS, fired_ns=onset + 2 * NS, updated_ns=now_ns)
    base = replace(base, record=None, gaps=())
    return [_slow_storage(base, everybody), _pfc_storm(base, everybody), _hot_gpu(base)]


def _slow_storage(base: Incident, everybody: BlastRadius) -> Incident:
    return replace(
        base,
        id="storage",
        kind=IncidentKind.SLOW_STORAGE,
        root=STORAGE,
        title="[CRIT] storage: storage target scratch/OST0001 slow — 512 GPUs, 3 jobs slowed by up to 72 %",
        first_symptom="18:11:44 UTC: job 4712 has no kernels to run (46.8 % against 100 %)",
        order_known=False,
        confidence=0.77,
        gpu_seconds=19008.0,
        blast=everybody,
        action="Look at the server and disks of scratch/OST0001; take the target out of the allocation of new files.",
        evidence=(
            Evidence(SECONDS, 0.775, 0.0223, "seconds an operation"),
            Evidence(SECONDS, 376.0, 338.0, "operations/s"),
        ),
        because=("scratch/OST0001 answers slowly (775 ms an operation against 22.3 ms an operation)",),
        against=(
            "not link degraded: no link has errors or a low speed",
            "not device down: no device has lost most of its links",
        ),
        alternatives=(),
        missing=("what came first: readings are 10 s apart",),
        timeline=tuple(
            TimelineEntry(
                base.onset_ns + k * NS, job(name), f"job {name} works less than it always did (10.6 % against 37.5 %)"
            )
            for k, name in enumerate(("4711", "4713", "4712", "4711", "4713"))
        ),
        findings=tuple(f"s{n}" for n in range(5)),
    )


def _pfc_storm(base: Incident, everybody: BlastRadius) -> Incident:
    return replace(
        base,
        id="receiver",
        root=port("leaf3", "Ethernet12"),
        title="[CRIT] pod1: PFC storm from leaf3/Ethernet12 — 512 GPUs, 3 jobs slowed by up to 61 %",
        first_symptom="18:11:35 UTC: leaf3/Ethernet100 pauses its peer (99 % at most)",
        order_known=False,
        gpu_seconds=11052.0,
        blast=replace(everybody, links=("leaf3/Ethernet12--node4/mlx5_2",)),
        action="Check the host behind leaf3/Ethernet12 (PCIe link, NIC firmware, memory pressure); "
        "drain it if it keeps pausing.",
        evidence=(Evidence(PAUSE, 0.439, 0.0, "ratio"),),
        because=(
            "node4 pauses leaf3/Ethernet12 and nothing pauses node4: the pauses of 8 devices end there",
            "leaf27/Ethernet0 pauses its peer (100 % at most)",
        ),
        against=(
            "not straggler: no host lags behind the others of its job",
            "not slow storage at scratch/OST0001: it does not reach spine10/Ethernet3/1",
        ),
        alternatives=(
            Hypothesis(
                IncidentKind.STRAGGLER,
                ObjectRef(ObjectKind.DEVICE, "node4"),
                0.24,
                "its GPUs work less than those of other hosts",
            ),
        ),
        timeline=(
            TimelineEntry(
                base.onset_ns, port("leaf3", "Ethernet100"), "leaf3/Ethernet100 pauses its peer (99 % at most)"
            ),
        )
        * 40,
        findings=tuple(f"r{n}" for n in range(37)),
    )


def _hot_gpu(base: Incident) -> Incident:
    return replace(
        base,
        id="hot",
        kind=IncidentKind.GPU_FAULT,
        root=gpu("node5", UUID),
        severity=Severity.WARNING,
        title="[WARN] pod1: GPU fault on node5 GPU 3 (GPU-c3aed4df) — 168 GPUs, 1 job at risk",
        first_symptom="18:11:57 UTC: node5 GPU 3 (GPU-c3aed4df) gets too warm (71 °C against 52.7 °C)",
        gpu_seconds=0.0,
        confidence=0.8,
        action="Drain node5; reset the GPU or send it for repair by the class of its fault.",
        evidence=(
            Evidence(TEMPERATURE, 71.0, 52.7, "celsius"),
            Evidence(f"at_power_limit({TEMPERATURE})", 93.2, None, "celsius"),
        ),
        because=(
            "it gets warmer than its power explains, and heat is about to slow it",
            "node5 GPU 3 (GPU-c3aed4df) gets too warm (71 °C against 52.7 °C)",
        ),
        against=(
            "not environment: nothing is too warm, and no part has failed",
            "not program failed: the driver has stopped no program",
        ),
        alternatives=(),
        missing=(),
        timeline=(
            TimelineEntry(base.onset_ns - 300 * NS, job("4712"), "change: finetune-moe of bob starts"),
            TimelineEntry(
                base.onset_ns, gpu("node5", UUID), "node5 GPU 3 (GPU-c3aed4df) gets too warm (71 °C against 52.7 °C)"
            ),
        ),
        findings=("h0",),
    )


def findings(now_ns: int) -> Iterator[Finding]:
    at = now_ns - 90 * NS
    slow = (Evidence(SECONDS, 0.775, 0.0223, "seconds an operation"),)
    less = (Evidence('gpu_tensor_active_ratio{device="node1"}', 0.106, 0.375, "ratio"),)
    pause = (Evidence(PAUSE, 0.99, None, "ratio at most"),)
    warm = (Evidence(TEMPERATURE, 71.0, 52.7, "celsius"),)
    yield finding("s0", STORAGE, FindingKind.STORAGE_SLOW, 9.0, at, slow)
    for place, name in enumerate(("4711", "4713", "4712")):
        yield finding(f"s{place + 1}", job(name), FindingKind.JOB_SLOWED, 5.0, at + place * NS, less)
    for place in range(37):
        yield finding(
            f"r{place}", port("leaf3", f"Ethernet{4 * place}"), FindingKind.PFC_PAUSE_RECEIVED, 4.0, at, pause
        )
    yield finding("h0", gpu("node5", UUID), FindingKind.GPU_HOT, 2.0, at, warm)


def finding(
    identity: str, about: ObjectRef, kind: FindingKind, score: float, at: int, evidence: tuple[Evidence, ...]
) -> Finding:
    return Finding(identity, kind, about, "by_hand", FindingState.ACTIVE, at, at, score, 0.9, evidence)


async def publish_busy_wall(bus: Bus, url: str) -> None:
    """As ``publish_wall``."""
    now_ns = time.time_ns()
    facts = [TopologyFact(one, 1, "inventory") for one in entities()]
    await bus.publish(topics.TOPOLOGY, [Message(one.entity.key.encode(), encode_record(one)) for one in facts])
    await eventually(url, "/api/v1/overview", lambda body: body["jobs_running"] == len(JOBS))
    await publish_batches(bus, *rounds(now_ns))
    losses = HostLosses(
        "node1",
        now_ns,
        (GpuLoss("GPU-1-0", "4711", now_ns - NS, 191340.0, {"storage": 22104.0, "checkpoint": 4212.0}),),
    )
    await bus.publish(topics.STARVATION, [Message(b"node1", encode_record(losses))])
    await publish_findings(bus, *findings(now_ns))
    await publish_incidents(bus, *incidents(now_ns))
