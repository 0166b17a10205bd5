"""A small cluster as the NOC page sees it: two pods with a job, links that carry bytes, GPUs that work."""

import time
from collections.abc import Sequence

import numpy as np

from bus.base import Bus, Message
from simulator.direct import without_samples
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.objects import ObjectRef
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.starvation import GpuLoss, HostLosses
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, TopologyFact
from tests.unit.fabricscope.api.traffic import eventually
from tests.unit.traffic import publish_batches

NS = 1_000_000_000
EVERY_S = 10
RATED = 400e9
RECEIVED, SENT = "fabric_port_receive_bytes_total", "fabric_port_transmit_bytes_total"
TENSOR = "gpu_tensor_active_ratio"
JOB = Job("4711", ("node1", "node2"), name="train", user="carol", started_ns=NS)


def entities(pods: int = 2) -> list[Entity]:
    """A spine; in each pod a leaf, and a rack with two hosts of two GPUs; a job on the first pod."""
    found: list[Entity] = [Device("spine1", Role.SPINE), JOB]
    for pod in range(1, pods + 1):
        leaf, place = f"leaf{pod}", (f"pod{pod}", f"r{pod}")
        found += [Device(leaf, Role.LEAF, *place), Link(leaf, "Ethernet0", "spine1", f"Ethernet{pod}", RATED)]
        for host in (2 * pod - 1, 2 * pod):
            node = f"node{host}"
            found += [Device(node, Role.HOST, *place), Link(leaf, f"Ethernet{4 * host}", node, "mlx5_0", RATED)]
            found += [Gpu(node, f"GPU-{host}-{index}", index) for index in range(2)]
    return found


def facts(pods: int = 2) -> list[TopologyFact]:
    return [TopologyFact(one, 1, "inventory") for one in entities(pods)]


def leaf_round(pod: int, number: int, at_ns: int, gbits: float = 100.0) -> SampleBatch:
    """Each port of a leaf receives and sends ``gbits`` a second."""
    ports = ["Ethernet0", f"Ethernet{4 * (2 * pod - 1)}", f"Ethernet{8 * pod}"]
    keys = [series_key(metric, {"device": f"leaf{pod}", "port": port}) for port in ports for metric in (RECEIVED, SENT)]
    value = number * EVERY_S * gbits * 1e9 / 8
    return _batch(f"gnmi/leaf{pod}", f"leaf{pod}", keys, number, at_ns, [value] * len(keys))


def host_round(host: int, number: int, at_ns: int, work: float) -> SampleBatch:
    keys = [series_key(TENSOR, {"device": f"node{host}", "gpu": f"GPU-{host}-{index}"}) for index in range(2)]
    return _batch(f"dcgm/node{host}", f"node{host}", keys, number, at_ns, [work] * 2)


def silent_round(target: str, device: str, number: int, at_ns: int) -> SampleBatch:
    table = SeriesTable(target, device, (series_key(TENSOR, {"device": device, "gpu": "0"}),))
    return without_samples(table, Collection(1, number, at_ns, 0.01, DownReason.TIMEOUT))


def rounds(works: Sequence[float], now_ns: int) -> list[SampleBatch]:
    """One collection of two leaves and of the job's hosts every ten seconds until now. works: of their GPUs."""
    found = []
    for number, work in enumerate(works):
        at_ns = now_ns - (len(works) - number) * EVERY_S * NS
        found += [leaf_round(pod, number, at_ns) for pod in (1, 2)]
        found += [host_round(host, number, at_ns, work) for host in (1, 2)]
    return found


def finding(identity: str, about: ObjectRef, score: float, at_ns: int, kind: FindingKind) -> Finding:
    evidence = (Evidence(f'x_seconds_total{{device="{about.device}"}}', 0.61, 0.01, "ratio"),)
    return Finding(identity, kind, about, "by_hand", FindingState.ACTIVE, at_ns, at_ns, score, 0.9, evidence)


async def publish_wall(bus: Bus, url: str, works: Sequence[float]) -> None:
    """The cluster, its rounds until now, and what its GPUs lost. The API at ``url`` knows the job before its rounds: it
    reads the topics side by side, and does not know whose work a round was that it read before."""
    now_ns = time.time_ns()
    await bus.publish(topics.TOPOLOGY, [Message(one.entity.key.encode(), encode_record(one)) for one in facts()])
    await eventually(url, "/api/v1/overview", lambda body: body["jobs_running"])
    await publish_batches(bus, *rounds(works, now_ns))
    loss = GpuLoss("GPU-1-0", "4711", now_ns - NS, 7200.0, {"fabric": 900.0, "storage": 900.0})
    losses = HostLosses("node1", now_ns, (loss,))
    await bus.publish(topics.STARVATION, [Message(b"node1", encode_record(losses))])


async def publish_findings(bus: Bus, *found: Finding) -> None:
    await bus.publish(topics.FINDINGS, [Message(one.id.encode(), encode_record(one)) for one in found])


def _batch(
    target: str, device: str, keys: Sequence[str], number: int, at_ns: int, values: Sequence[float]
) -> SampleBatch:
    table, collection = SeriesTable(target, device, tuple(keys)), Collection(1, number, at_ns, 0.01)
    rows = np.arange(len(keys), dtype=np.uint32)
    return SampleBatch(table, collection, np.full(len(keys), at_ns), rows, np.array(values))
