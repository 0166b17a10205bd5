"""A synthetic cluster in which much happens at once, for tests of the whole engine."""

import numpy as np

from analytics.engine import Engine
from analytics.worker import build_engine
from telemetry import objects
from telemetry.changes import Change, ChangeKind
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS

HOSTS = 4
ROUNDS = 40
FAULT_ROUND = 22


def new_engine() -> Engine:
    return build_engine(CONFIG)


def _host_table(host: int) -> SeriesTable:
    device = f"node{host}"
    keys = []
    for n in range(4):
        gpu = {"device": device, "gpu": f"GPU-{host}-{n}"}
        keys += [series_key(f"gpu_{m}", gpu) for m in ("sm_clock_hertz", "tensor_active_ratio", "utilization_ratio")]
        keys.append(series_key("gpu_energy_joules_total", gpu))
    return SeriesTable(f"dcgm/{device}", device, tuple(keys))


def _leaf_table() -> SeriesTable:
    keys = []
    for host in range(HOSTS):
        port = {"device": "leaf1", "port": f"Ethernet{4 * host}"}
        keys.append(series_key("fabric_port_up", port))
        keys.append(series_key("fabric_port_receive_bytes_total", port))
        pause = {**port, "priority": "3", "direction": "rx"}
        keys.append(series_key("fabric_port_pfc_pause_seconds_total", pause))
    return SeriesTable("gnmi/leaf1", "leaf1", tuple(keys))


def _host_values(rng: np.random.Generator, host: int, number: int) -> list[float]:
    """One job in lockstep: all of its GPUs compute and wait together, and for the slow one."""
    values = []
    computes = 0.5 + 0.1 * np.sin(1.7 * number)
    for n in range(4):
        slow = host == 1 and n == 2 and number >= FAULT_ROUND
        waits = 0.2 if number >= FAULT_ROUND and not slow else 0.0
        values += [1.2e9 if slow else 1.98e9, computes - waits + 0.005 * rng.normal(), 1.0]
        values.append(5000.0 * number + float(rng.integers(0, 100)))
    return values


def _leaf_values(rng: np.random.Generator, number: int) -> list[float]:
    values = []
    for host in range(HOSTS):
        faulty = number >= FAULT_ROUND
        values.append(0.0 if host == 3 and faulty else 1.0)
        values.append(1e10 * number + float(rng.integers(0, 10**6)))
        values.append(4.0 * max(0, number - FAULT_ROUND) if host == 0 else 0.0)
    return values


def batches() -> list[SampleBatch]:
    """Collections of all targets, in event order, each at its own moment of the interval."""
    rng = np.random.default_rng(3)
    tables = [*(_host_table(host) for host in range(HOSTS)), _leaf_table()]
    found = []
    for number in range(ROUNDS):
        for place, table in enumerate(tables):
            at_ns = START_NS + number * INTERVAL_S * SECOND + place * 1_700_000_000
            host = table.device.startswith("node")
            values = _host_values(rng, place, number) if host else _leaf_values(rng, number)
            rows = np.arange(len(table), dtype=np.uint32)
            collection = Collection(START_NS, number, at_ns, 0.05)
            found.append(SampleBatch(table, collection, np.full(rows.size, at_ns), rows, np.array(values)))
    return found


def _facts() -> list[TopologyFact]:
    nodes = tuple(f"node{host}" for host in range(HOSTS))
    entities: list[Entity] = [
        Device("leaf1", Role.LEAF, rack="r0"),
        *(Device(node, Role.HOST, rack="r1") for node in nodes),
    ]
    links = [Link("leaf1", f"Ethernet{4 * host}", f"node{host}", "mlx5_0", 400e9) for host in range(HOSTS)]
    gpus = [Gpu(f"node{host}", f"GPU-{host}-{n}", n, "mlx5_0") for host in range(HOSTS) for n in range(4)]
    jobs = [Job("4711", nodes, "train", "ada", started_ns=START_NS - 3600 * SECOND)]
    return [TopologyFact(entity, START_NS - SECOND, "inventory") for entity in [*entities, *links, *gpus, *jobs]]


FACTS = _facts()
CHANGES = [Change("c1", ChangeKind.CONFIG, (objects.device("leaf1"),), START_NS + 200 * SECOND, 0, "ada", "buffers")]
