"""The straggler against its job in lockstep: one GPU is found at its second sample, the end of a job finds none."""

from dataclasses import replace

import numpy as np

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, run, table

HOSTS, GPUS, FULL_HZ, IDLE_HZ = ("node1", "node2"), 4, 1.98e9, 3.45e8
METRICS = ("gpu_sm_clock_hertz", "gpu_tensor_active_ratio", "gpu_utilization_ratio")
TABLES = {
    host: table(
        host, [series_key(m, {"device": host, "gpu": f"GPU-{g}"}) for m in METRICS for g in range(GPUS)], "dcgm"
    )
    for host in HOSTS
}


def engine_with_a_job() -> Engine:
    engine = Engine(CONFIG)
    entities = [Gpu(host, f"GPU-{g}", g) for host in HOSTS for g in range(GPUS)] + [Job("4711", HOSTS)]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    return engine


def phase(seq: int, host: int) -> float:
    """Of the step in which a host is read: all of its GPUs compute more, or less."""
    return 1.0 + 0.2 * (-1.0) ** (seq + host)


def collections(seq: int, clocks: dict[str, list[float]], busy: dict[str, float] | None = None) -> list[SampleBatch]:
    """One collection of each host; the second host is read three seconds after the first."""
    found = []
    for late, host in enumerate(HOSTS):
        utilisation = (busy or {}).get(host, 1.0)
        hertz = clocks.get(host, [FULL_HZ] * GPUS)
        longer = max(hertz) / np.array(hertz)  # the same work at a lower clock
        values = [*hertz, *(0.4 * phase(seq, late) * longer), *[utilisation] * GPUS]
        found.append(batch(TABLES[host], seq, values, at_s=seq * CONFIG.interval_s + 3 * late))
    return found


def stragglers(batches: list[SampleBatch]) -> set[str]:
    outputs = run(engine_with_a_job(), batches)
    return {str(one.object) for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.STRAGGLER}


ONE_SLOW = {"node2": [FULL_HZ, FULL_HZ, FULL_HZ, 0.5 * FULL_HZ]}


def test_one_slow_gpu_is_found_at_its_second_sample() -> None:
    healthy = [page for seq in range(8) for page in collections(seq, {})]
    slow = collections(8, ONE_SLOW)
    assert stragglers([*healthy, *slow, *collections(9, {}), *collections(10, {})]) == set()
    again = [page for seq in range(9, 11) for page in collections(seq, ONE_SLOW)]
    assert stragglers([*healthy, *slow, *again]) == {"gpu:node2/GPU-3"}


def test_while_nothing_shows_that_others_wait_nobody_is_named() -> None:
    """Activity that never changes says nothing about the work."""
    steady = [page for seq in range(12) for page in collections(seq, ONE_SLOW if seq >= 8 else {})]
    flat = [one.values.copy() for one in steady]
    for values in flat:
        values[GPUS : 2 * GPUS] = 0.4
    assert stragglers([replace(one, values=values) for one, values in zip(steady, flat, strict=True)]) == set()


def test_the_end_of_a_job_is_no_straggler() -> None:
    """The second host is read after the end: idle clocks, while utilisation is still the average of the interval."""
    healthy = [page for seq in range(6) for page in collections(seq, {})]
    ending = collections(6, {"node2": [IDLE_HZ] * GPUS})
    idle = {host: [IDLE_HZ] * GPUS for host in HOSTS}
    over = [page for seq in range(7, 10) for page in collections(seq, idle, dict.fromkeys(HOSTS, 0.0))]
    assert stragglers([*healthy, *ending, *over]) == set()


def test_a_host_that_stays_slow_is_found() -> None:
    healthy = [page for seq in range(8) for page in collections(seq, {})]
    slow = [page for seq in range(8, 12) for page in collections(seq, {"node2": [0.5 * FULL_HZ] * GPUS})]
    assert any(name.startswith("gpu:node2/") for name in stragglers([*healthy, *slow]))


def test_of_clocks_that_always_differ_only_one_far_below_is_found() -> None:
    hosts, rng = [f"node{n}" for n in range(40)], np.random.default_rng(1)
    keys = {
        host: [series_key(m, {"device": host, "gpu": f"GPU-{g}"}) for m in METRICS for g in range(8)] for host in hosts
    }
    tables = {host: table(host, keys[host], "dcgm") for host in hosts}
    entities = [Gpu(host, f"GPU-{g}", g) for host in hosts for g in range(8)] + [Job("4711", tuple(hosts))]
    engine = Engine(CONFIG)
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    clocks = FULL_HZ * np.clip(1.0 + 0.03 * rng.normal(size=(40, 8)), 0.9, 1.1)
    clocks[7, 3] = 0.75 * FULL_HZ
    outputs = run(
        engine,
        [
            batch(
                tables[host],
                seq,
                [*(clocks[n] * (1.0 + 1e-3 * rng.normal(size=8))), *[0.4 * phase(seq, n)] * 8, *[1.0] * 8],
            )
            for seq in range(9)
            for n, host in enumerate(hosts)
        ],
    )
    assert {str(one.object) for one in outputs if isinstance(one, Finding)} == {"gpu:node7/GPU-3"}
