"""The ledger in the engine: hosts that cannot feed their GPUs, jobs that are stalled, jobs that follow each other."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from analytics.engine import Engine
from telemetry.series import series_key
from telemetry.starvation import GpuLoss, WaitCause
from telemetry.topology import Entity, Job, Mount, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, START_NS, batch, run, table

JOB = Job("7", ("node1", "node2"))
ROUNDS, FAULT = 40, 20

Values = Callable[[str, int], tuple[float, float, float]]  # host and round -> utilisation, activity, CPU pressure


def _entities(job: Job) -> list[Entity]:
    return [job, *(Mount(node, "scratch") for node in JOB.nodes)]


def lost(values: Values, job: Job = JOB) -> dict[str, GpuLoss]:
    """What the first GPU of each host lost; the second one does the same, in step with it."""
    engine, pressure = Engine(CONFIG), dict.fromkeys(JOB.nodes, 0.0)
    engine.add_facts(TopologyFact(entity, START_NS, "test") for entity in _entities(job))
    losses: dict[str, GpuLoss] = {}
    for number in range(ROUNDS):
        for host in JOB.nodes:
            gpus = [{"device": host, "gpu": f"GPU-{n}"} for n in range(2)]
            wait = {"device": host, "resource": "cpu", "kind": "waiting"}
            names = ("utilization_ratio", "tensor_active_ratio")
            keys = [series_key(f"gpu_{name}", gpu) for gpu in gpus for name in names]
            busy, active, waiting = values(host, number)
            pressure[host] += waiting * INTERVAL_S
            active *= 1.0 + 0.03 * (-1) ** number  # the phase of the step
            rows = [busy, active + 1e-4 * (number % 7)] * 2
            run(engine, [batch(table(host, keys, "dcgm"), number, rows)])
            run(
                engine,
                [batch(table(host, [series_key("node_pressure_seconds_total", wait)]), number, [pressure[host]])],
            )
        losses |= {one.device: one.gpus[0] for one in engine.starvation.pop_due()}
    return losses


def test_a_host_without_cpu_starves_its_own_gpu_and_makes_the_others_wait() -> None:
    def values(host: str, number: int) -> tuple[float, float, float]:
        if number < FAULT:
            return 1.0, 0.5, 0.02
        return (0.4, 0.2, 0.8) if host == "node1" else (1.0, 0.2, 0.02)

    losses = lost(values)
    fault_s = losses["node2"].watched_s - (FAULT - 1) * INTERVAL_S
    assert losses["node1"].lost_s[WaitCause.DATA_LOADER] == pytest.approx(0.6 * fault_s, rel=0.1)
    assert sum(losses["node1"].lost_s.values()) == pytest.approx(0.6 * fault_s, rel=0.1)
    assert set(losses["node2"].lost_s) == {WaitCause.PEER}


def test_a_stalled_job_is_hung_from_its_first_second() -> None:
    losses = lost(lambda _, number: (1.0, 0.5, 0.0) if number < FAULT else (0.0, 0.0, 0.0))
    for gpu in losses.values():
        assert set(gpu.lost_s) == {WaitCause.HUNG}
        assert gpu.lost_s[WaitCause.HUNG] == pytest.approx(gpu.watched_s - (FAULT - 1) * INTERVAL_S, abs=INTERVAL_S)


def test_gpus_without_a_job_lose_nothing() -> None:
    assert lost(lambda *_: (0.0, 0.0, 0.0), replace(JOB, nodes=())) == {}


def test_older_jobs_are_added_up() -> None:
    engine = Engine(CONFIG)
    busy = table("node1", [series_key("gpu_utilization_ratio", {"device": "node1", "gpu": "GPU-0"})], "dcgm")
    losses: dict[str, tuple[GpuLoss, ...]] = {}
    for number in range(60):
        job = Job(str(number // 10), ("node1",))
        before = Job(str(number // 10 - 1), ("node1",))
        at_ns = START_NS + (number * INTERVAL_S - INTERVAL_S // 2) * 10**9
        engine.add_facts([TopologyFact(before, at_ns, "test", gone=True), TopologyFact(job, at_ns, "test")])
        run(engine, [batch(busy, number, [0.5 + 1e-3 * (number % 7)])])
        losses |= {one.device: one.gpus for one in engine.starvation.pop_due()}
    assert {gpu.job_id for gpu in losses["node1"]} == {"", "3", "4", "5"}
    assert sum(gpu.watched_s for gpu in losses["node1"]) == pytest.approx(60 * INTERVAL_S, rel=0.2)
