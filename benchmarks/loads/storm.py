"""A large cluster and the findings of a storm on it, as correlation receives them."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count

from common.units import NS_PER_S
from telemetry.findings import Evidence, Finding, FindingKind, FindingState
from telemetry.objects import ObjectRef, gpu, job, port
from telemetry.topology import Device, Entity, Gpu, Job, Link, Mount, Role, StorageTarget, Topology, TopologyFact

RAILS, HOSTS_PER_POD, SPINES = 8, 64, 16
HOSTS_PER_JOB = 64
START_NS = 1_800_000_000 * NS_PER_S
_GPU_KINDS = (FindingKind.GPU_XID, FindingKind.GPU_ECC, FindingKind.GPU_ROW_REMAP, FindingKind.GPU_THROTTLED)
_PORT_KINDS = (FindingKind.LINK_ERRORS, FindingKind.PFC_PAUSE_RECEIVED, FindingKind.QUEUE_CONGESTED)


def large_cluster(hosts: int) -> Topology:
    """Pods of 64 hosts with a leaf a rail, 16 spines, a GPU and a port a rail of each host, a job a pod."""
    facts = (TopologyFact(entity, START_NS, "inventory") for entity in _entities(hosts))
    return Topology().with_facts(facts)


def _entities(hosts: int) -> Iterator[Entity]:
    for spine in range(SPINES):
        yield Device(f"spine{spine}", Role.SPINE)
    for pod in range(-(-hosts // HOSTS_PER_POD)):
        for rail in range(RAILS):
            yield Device(_leaf(pod, rail), Role.LEAF, rail=str(rail))
            for spine in range(SPINES):
                yield Link(_leaf(pod, rail), f"up{spine}", f"spine{spine}", f"p{pod}.{rail}")
    for host in range(hosts):
        yield Device(f"node{host}", Role.HOST, rack=f"r{host // 4}")
        yield Mount(f"node{host}", "scratch")
        for rail in range(RAILS):
            yield Gpu(f"node{host}", f"GPU-{host:05d}-{rail}", rail, nic_port=f"mlx5_{rail}")
            yield Link(_leaf(host // HOSTS_PER_POD, rail), f"down{host}", f"node{host}", f"mlx5_{rail}")
    for server in range(16):
        yield Device(f"oss{server}", Role.STORAGE)
        yield Link(_leaf(0, server % RAILS), f"oss{server}", f"oss{server}", "mlx5_0")
        yield StorageTarget("scratch", f"OST{server:04d}", f"oss{server}")
    for number in range(0, hosts, HOSTS_PER_JOB):
        nodes = tuple(f"node{host}" for host in range(number, min(number + HOSTS_PER_JOB, hosts)))
        yield Job(_job(number), nodes, started_ns=START_NS - 7200 * NS_PER_S)


def _leaf(pod: int, rail: int) -> str:
    return f"leaf{pod}-{rail}"


def _job(first_host: int) -> str:
    return str(first_host // HOSTS_PER_JOB)


def failing_gpus(hosts: int, findings: int) -> list[Finding]:
    """Two GPUs on every other host fail with four findings each, and the jobs stand still: independent causes."""
    found = [_finding(FindingKind.JOB_STALLED, job(_job(first)), 5.0) for first in range(0, hosts, HOSTS_PER_JOB)]
    for each in range(findings - len(found)):
        number, kind = divmod(each, len(_GPU_KINDS))
        host, index = (number // 2) * 2 % hosts, number % 2 + 2 * ((number // 2) * 2 // hosts)
        found.append(_finding(_GPU_KINDS[kind], gpu(f"node{host}", f"GPU-{host:05d}-{index}"), each % 7))
    return found


def mixed(hosts: int, findings: int) -> list[Finding]:
    """A sixth each, spread over the cluster: failing GPUs, links with errors, pauses and queues at ports, GPUs that
    deviate, and jobs that are slow; of a job there is one, so there are fewer of those."""
    found: dict[str, Finding] = {}
    for each in count():
        if len(found) == findings:
            break
        host, rail = each * 37 % hosts, each % RAILS
        leaf_port = port(_leaf(host // HOSTS_PER_POD, rail), f"down{host}")
        which = each % 6
        if which == 0:
            kind, ref = _GPU_KINDS[each % 4], gpu(f"node{host}", f"GPU-{host:05d}-{rail}")
        elif which <= 3:
            kind, ref = _PORT_KINDS[which - 1], leaf_port
        elif which == 4:
            kind, ref = FindingKind.DEVIATION, gpu(f"node{host}", f"GPU-{host:05d}-{rail}")
        else:
            kind, ref = FindingKind.JOB_SLOWED, job(_job(host))
        finding = _finding(kind, ref, each % 7)
        found[finding.id] = finding
    return list(found.values())


def _finding(kind: FindingKind, ref: ObjectRef, after_s: float) -> Finding:
    onset_ns = START_NS + int(after_s * NS_PER_S)
    evidence = (Evidence(f'{kind}{{device="{ref.device}",priority="3"}}', 0.9, 0.1, "ratio"),)
    return Finding(f"{kind}@{ref}", kind, ref, "storm", FindingState.ACTIVE, onset_ns, onset_ns, 2.0, 0.9, evidence)


def seen_again(findings: Iterable[Finding], now_ns: int) -> Sequence[Finding]:
    """The same findings as of a later time: detectors publish them again from time to time."""
    return [replace(finding, observed_ns=now_ns) for finding in findings]
