"""Evidence for the causes of waiting, from the values and findings of one tick."""

import numpy as np
import pytest

from analytics.detectors.lifecycle import FindingTracker
from analytics.detectors.spec import Verdicts
from analytics.starvation.evidence import WaitEvidence, mounted_systems, wait_evidence
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.findings import FindingKind
from telemetry.objects import ObjectRef
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Device, Entity, Gpu, Job, Link, Mount, Role, StorageTarget, Topology, TopologyFact
from tests.unit.analytics.detectors.ticks import at_each_tick
from tests.unit.analytics.small_cluster import INTERVAL_S, START_NS, batch, clockwork, table

OPERATIONS = "storage_operations_total"
CLIENT = {"system": "lustre", "fs": "scratch", "target": "OST0", "side": "client"}
SERVER = {**CLIENT, "device": "oss1", "side": "server"}
HOSTS = ("node1", "node2", "node3")
ENTITIES: list[Entity] = [
    *(Device(host, Role.HOST) for host in HOSTS),
    *(Mount(host, "scratch") for host in HOSTS[:2]),
    *(Gpu(host, "GPU-0", 0) for host in HOSTS),
    Device("leaf1", Role.LEAF),
    Device("spine1", Role.SPINE),
    StorageTarget("scratch", "OST0", "oss1"),
    Link("leaf1", "Ethernet0", "node1", "mlx5_0"),
    Link("leaf1", "Ethernet400", "spine1", "Ethernet0"),
    Job("two", ("node1", "node2")),
    Job("one", ("node3",)),
]
PORTS = (("leaf1", "Ethernet0"), ("leaf1", "Ethernet400"), ("spine1", "Ethernet0"), ("node1", "mlx5_0"))
QUIET = [
    *(series_key("fabric_port_up", {"device": device, "port": port}) for device, port in PORTS),
    series_key("gpu_utilization_ratio", {"device": "node2", "gpu": "GPU-0"}),
    series_key("storage_available_bytes", SERVER),
]


class Findings(FindingTracker):
    """Active findings by detector."""

    def __init__(self, view: TickView, found: dict[str, list[ObjectRef]]) -> None:
        super().__init__()
        for detector, refs in found.items():
            numbers = np.array([view.index.object_number(ref) for ref in refs], np.int64)
            ones = np.ones(numbers.size)
            self.update(_Source(detector), Verdicts(numbers, np.full(numbers.size, START_NS), ones >= 1, ones), view)


class _Source:
    kind, persist, fire_immediately_score, clear_intervals = FindingKind.DEVIATION, 1, 1.0, 1.0

    def __init__(self, name: str) -> None:
        self.name = name


def evidence(rates: dict[str, float], found: dict[str, list[ObjectRef]] | None = None) -> WaitEvidence:
    """Of counters that grow by these amounts a second, and of findings by detector."""
    batches: list[SampleBatch] = []
    for key, rate in {**dict.fromkeys(QUIET, 0.0), **rates}.items():
        of = table(key.partition('device="')[2].partition('"')[0], [key], f"job-{len(batches)}")
        batches += [batch(of, seq, [seq * rate * INTERVAL_S]) for seq in range(3)]

    def work(view: TickView) -> WaitEvidence:
        return wait_evidence(view, Findings(view, found or {}), mounted_systems(view.topology))

    ordered = sorted(batches, key=lambda each: (each.collection.collected_ns, each.table.target))
    return at_each_tick(work, [*ordered, *clockwork(0, [3])], ENTITIES)[-1]


def pressure(host: str, resource: str, kind: str) -> str:
    return series_key("node_pressure_seconds_total", {"device": host, "resource": resource, "kind": kind})


def operations(labels: dict[str, str], op: str, host: str = "") -> str:
    return series_key(OPERATIONS, {**labels, **({"device": host} if host else {}), "op": op})


@pytest.mark.parametrize(
    ("rates", "starved", "slow"),
    [
        ({}, set(), set()),
        ({pressure("node1", "cpu", "waiting"): 0.25}, {"node1"}, set()),
        ({pressure("node1", "cpu", "waiting"): 0.24}, set(), set()),
        ({pressure("node1", "io", "waiting"): 0.25}, set(), {"node1"}),
        ({pressure("node1", "io", "stalled"): 0.9}, set(), set()),
        ({pressure("node1", "memory", "waiting"): 0.9}, set(), set()),
    ],
)
def test_hosts_under_pressure(rates: dict[str, float], starved: set[str], slow: set[str]) -> None:
    found = evidence(rates)
    assert found.starved == starved
    assert found.slow == slow


@pytest.mark.parametrize(
    ("rates", "reading", "writing"),
    [
        ({}, set(), set()),
        # A host's own client counts for it alone.
        ({operations(CLIENT, "read", "node1"): 20.0}, {"node1"}, set()),
        ({operations(CLIENT, "read", "node1"): 19.0}, set(), set()),
        (
            {operations(CLIENT, "read", "node1"): 30.0, operations(CLIENT, "write", "node1"): 40.0},
            set(),
            {"node1"},
        ),
        (
            {operations(CLIENT, "read", "node1"): 40.0, operations(CLIENT, "write", "node1"): 40.0},
            {"node1"},
            set(),
        ),
        # Without it the servers' operations count for every host that mounts the file system.
        ({operations(SERVER, "read"): 50.0}, {"node1", "node2"}, set()),
        ({operations(SERVER, "read"): 50.0, operations(SERVER, "write"): 60.0}, set(), {"node1", "node2"}),
        (
            {operations(CLIENT, "read", "node1"): 1.0, operations(SERVER, "write"): 60.0},
            set(),
            {"node2"},
        ),
    ],
)
def test_hosts_that_read_or_write(rates: dict[str, float], reading: set[str], writing: set[str]) -> None:
    found = evidence(rates)
    assert found.reading == reading
    assert found.writing == writing


GPU = objects.gpu("node2", "GPU-0")


@pytest.mark.parametrize(
    ("detector", "ref", "field", "expected"),
    [
        ("straggler", GPU, "throttled", {"node2/GPU-0"}),
        ("gpu_throttle", GPU, "throttled", {"node2/GPU-0"}),
        ("gpu_hung", GPU, "hung_gpus", {"node2/GPU-0"}),
        ("gpu_lost", GPU, "lost", {"node2/GPU-0"}),
        ("gpu_xid", GPU, "lost", {"node2/GPU-0"}),
        ("job_stalled", objects.job("two"), "stalled", {"two"}),
        ("storage_slow", objects.storage_target("scratch", "OST0"), "slow", {"node1", "node2"}),
        ("metadata_storm", objects.storage_target("scratch", "OST0"), "slow", {"node1", "node2"}),
        # A port of a host, either end: the jobs of that host.
        ("link_errors", objects.port("node1", "mlx5_0"), "fabric", {"two"}),
        ("link_errors", objects.port("leaf1", "Ethernet0"), "fabric", {"two"}),
        # Between switches: every job of more than one host.
        ("link_errors", objects.port("leaf1", "Ethernet400"), "fabric", {"two"}),
        ("link_errors", objects.port("spine1", "Ethernet0"), "fabric", {"two"}),
    ],
)
def test_findings_of_detectors(detector: str, ref: ObjectRef, field: str, expected: set[str]) -> None:
    found = evidence({}, {detector: [ref]})
    assert getattr(found, field) == expected
    others = set(WaitEvidence.__dataclass_fields__) - {field}
    assert {name for name in others if getattr(found, name)} == set()


def test_file_systems_by_host() -> None:
    facts = [TopologyFact(entity, START_NS, "test") for entity in (Mount("a", "x"), Mount("a", "y"), Mount("b", "x"))]
    assert mounted_systems(Topology().with_facts(facts)) == {"a": {"x", "y"}, "b": {"x"}}
