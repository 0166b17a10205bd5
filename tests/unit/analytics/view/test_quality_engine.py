"""Quality through the engine: unsupported series, zeros by a fault, series that vanish from a scrape body."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from analytics.engine import Engine, Output
from analytics.view.quality import Quality
from telemetry.findings import Finding
from telemetry.samples import Collection, SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, port_key, run, table

HOSTS, GPUS, ROUNDS = ("node1", "node2"), 4, 20
POWER, ACTIVE, DRAM = "gpu_power_watts", "gpu_tensor_active_ratio", "gpu_memory_bandwidth_active_ratio"
CELSIUS, ECC = "gpu_memory_temperature_celsius", "gpu_nvlink_errors_total"
METRICS = (POWER, ACTIVE, DRAM, CELSIUS, ECC)
Value = Callable[[str, str, int, int], float]  # metric, host, GPU, collection


def healthy(metric: str, host: str, gpu: int, seq: int) -> float:
    moving = 1.0 + 0.01 * ((seq * 7 + gpu) % 5)
    return {POWER: 600.0 * moving, ACTIVE: 0.4 * moving, DRAM: 0.3 * moving}.get(metric, 0.0)


def engine_after(value: Value, rounds: int = ROUNDS) -> Engine:
    engine = Engine(CONFIG)
    entities: list[Entity] = [Gpu(host, f"GPU-{g}", g, model="H100") for host in HOSTS for g in range(GPUS)]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in [*entities, Job("4711", HOSTS)])
    tables = {
        host: table(host, [series_key(m, {"device": host, "gpu": f"GPU-{g}"}) for m in METRICS for g in range(GPUS)])
        for host in HOSTS
    }
    for seq in range(rounds):
        for host in HOSTS:
            values = [value(metric, host, gpu, seq) for metric in METRICS for gpu in range(GPUS)]
            run(engine, [batch(tables[host], seq, values)])
    return engine


def states(engine: Engine, metric: str, object_name: str | None = None) -> set[Quality]:
    view = engine.view(engine.window.watermark_ns)
    sids = view.column(metric).sids
    names = [engine.registry.objects.names[n] for n in view.column(metric).objects]
    return {Quality(view.quality[s]) for s, name in zip(sids, names, strict=True) if object_name in (None, name)}


def test_a_sensor_that_no_gpu_of_the_model_has_is_unsupported() -> None:
    engine = engine_after(healthy)
    assert states(engine, CELSIUS) == {Quality.UNSUPPORTED}
    assert states(engine, ECC) == {Quality.FRESH}, "without errors it is healthy"
    assert states(engine, POWER) == {Quality.FRESH}
    assert engine.quality_counts["unsupported"] == len(HOSTS) * GPUS
    assert sum(engine.quality_counts.values()) == len(engine.registry)


def test_a_sensor_that_one_gpu_of_the_model_has_is_supported() -> None:
    def value(metric: str, host: str, gpu: int, seq: int) -> float:
        return 60.0 + seq % 2 if (metric, host, gpu) == (CELSIUS, "node1", 0) else healthy(metric, host, gpu, seq)

    assert states(engine_after(value), CELSIUS) == {Quality.FRESH}


def test_nothing_is_unsupported_in_its_first_intervals() -> None:
    assert states(engine_after(healthy, 8), CELSIUS) == {Quality.FRESH}


@pytest.mark.parametrize(
    ("power", "peers", "expected"),
    [
        (600.0, 0.4, Quality.ZERO),  # draws power and reads memory like the others: the zero is a fault
        (90.0, 0.4, Quality.FRESH),  # it is idle
        (600.0, 0.0, Quality.FRESH),  # the whole job is idle
    ],
)
def test_a_zero_is_a_fault_where_other_series_prove_work(power: float, peers: float, expected: Quality) -> None:
    def value(metric: str, host: str, gpu: int, seq: int) -> float:
        normal = healthy(metric, host, gpu, seq)
        if seq < 15:
            return normal
        if (host, gpu) != ("node1", 2):
            return peers if metric == ACTIVE else normal
        return {ACTIVE: 0.0, POWER: power + seq % 3}.get(metric, normal)

    assert states(engine_after(value), ACTIVE, "gpu:node1/GPU-2") == {expected}


def test_a_port_whose_queues_send_has_not_sent_nothing() -> None:
    keys = [port_key("fabric_port_transmit_bytes_total"), port_key("fabric_queue_transmit_bytes_total", queue="3")]
    engine, of = Engine(CONFIG), table("leaf1", keys)
    run(engine, [batch(of, seq, [1e9 * min(seq, 12), 1e9 * seq]) for seq in range(ROUNDS)])
    assert states(engine, "fabric_port_transmit_bytes_total") == {Quality.ZERO}
    assert states(engine, "fabric_queue_transmit_bytes_total") == {Quality.FRESH}


@pytest.mark.parametrize(("priority", "expected"), [("3", Quality.ZERO), ("0", Quality.FRESH)])
def test_an_rdma_port_that_is_idle_beside_its_kernel_has_sent_nothing(priority: str, expected: Quality) -> None:
    """What the kernel sends is of priority 0: it proves no RDMA."""
    port = {"device": "node1", "port": "mlx5_0"}
    sent = series_key("nic_priority_bytes_total", {**port, "priority": priority, "direction": "tx"})
    engine, of = Engine(CONFIG), table("node1", [series_key("ib_port_transmit_bytes_total", port), sent], "node")
    run(engine, [batch(of, seq, [1e9 * min(seq, 12), 1e9 * seq]) for seq in range(ROUNDS)])
    assert states(engine, "ib_port_transmit_bytes_total") == {expected}


PORTS = [f"mlx5_{n}" for n in range(4)]
NIC_KEYS = [
    series_key(metric, {"device": "node1", "port": port})
    for port in PORTS
    for metric in ("nic_up", "nic_speed_bits_per_second", "ib_port_transmit_bytes_total")
]


def vanished(gone: Sequence[int]) -> list[Finding]:
    """The findings when these rows are missing after ten collections."""
    of, batches = table("node1", NIC_KEYS, "node"), []
    for seq in range(20):
        rows = np.array([n for n in range(len(of)) if seq < 10 or n not in gone], np.uint32)
        at_ns = START_NS + seq * INTERVAL_S * SECOND
        values = np.array([1.0, 4e11, 1e9 * seq] * len(PORTS))[rows]
        batches.append(SampleBatch(of, Collection(START_NS, seq, at_ns, 0.1), np.full(rows.size, at_ns), rows, values))
    outputs: list[Output] = run(Engine(CONFIG), batches)
    return [one for one in outputs if isinstance(one, Finding) and one.detector == "series_vanished"]


def test_a_port_whose_series_vanish_has_a_finding() -> None:
    found = vanished([3, 4, 5])
    assert {str(one.object) for one in found} == {"port:node1/mlx5_1"}
    assert found[0].onset_ns == START_NS + 10 * INTERVAL_S * SECOND
    assert found[0].observed_ns <= found[0].onset_ns + INTERVAL_S * SECOND
    assert found[0].confidence == 0.6
    assert 0.5 < found[-1].confidence < 0.6, "some of the target's series are stale by now"


@pytest.mark.parametrize("gone", [[3], [0, 3, 6, 9], list(range(9))])
def test_single_series_a_whole_metric_and_most_of_a_target_are_no_finding_about_an_object(gone: list[int]) -> None:
    assert vanished(gone) == []


def slow_group(lost: Sequence[int] = (), gone_from: int = 10**6) -> list[Finding]:
    """A switch with ports that are read every 10 s and optics every 60 s, for twelve minutes.

    lost: readings of the optics that are missing as a whole. gone_from: since when those of one port are.
    """
    counted = [port_key("fabric_port_receive_bytes_total", f"Ethernet{n}") for n in range(4)]
    lanes = [
        port_key(metric, f"Ethernet{n}", lane=lane)
        for n in range(4)
        for metric in ("fabric_port_optical_power_dbm", "fabric_port_laser_bias_amperes")
        for lane in "12"
    ]
    of, batches = table("leaf1", [*counted, *lanes]), []
    for seq in range(72):
        rows = list(range(len(counted)))
        if seq % 6 == 0 and seq // 6 not in lost:
            gone = 'port="Ethernet1"' if seq >= gone_from else "nothing"
            rows += [n for n in range(len(counted), len(of)) if gone not in of.keys[n]]
        at_ns = START_NS + seq * INTERVAL_S * SECOND
        values = np.array([1e9 * seq if n < len(counted) else 1.0 + seq % 5 for n in rows])
        collection = Collection(START_NS, seq, at_ns, 0.1)
        batches.append(SampleBatch(of, collection, np.full(len(rows), at_ns), np.array(rows, np.uint32), values))
    outputs: list[Output] = run(Engine(CONFIG), batches)
    return [one for one in outputs if isinstance(one, Finding) and one.detector == "series_vanished"]


@pytest.mark.parametrize("lost", [(), (5,), (1,), (4, 7)])
def test_series_that_are_read_rarely_have_not_vanished_in_between(lost: Sequence[int]) -> None:
    assert slow_group(lost) == []


def test_series_that_are_read_rarely_vanish_in_their_own_time() -> None:
    found = slow_group(gone_from=36)
    assert {str(one.object) for one in found} == {"port:leaf1/Ethernet1"}
    assert found[0].onset_ns == START_NS + 360 * SECOND
    assert found[0].observed_ns <= START_NS + 400 * SECOND
