"""Causes that need no cluster: hosts that cannot feed their GPUs, jobs that stand, causes that are found late."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from analytics.engine import Engine
from analytics.starvation import rules
from analytics.starvation.evidence import WaitEvidence
from telemetry.series import series_key
from telemetry.starvation import GpuLoss, WaitCause
from telemetry.topology import Entity, Job, Mount, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, START_NS, batch, run, table

JOB = Job("7", ("node1", "node2"))
ROUNDS, FAULT = 40, 20
NOTHING = WaitEvidence(*[frozenset()] * 9)
TWO_HOSTS = (("node1", "GPU-0", "7"), ("node2", "GPU-0", "7"))
ONE_JOB = np.zeros(2, np.int64)

Values = Callable[[str, int], tuple[float, float, float]]  # host and round -> utilisation, activity, CPU pressure


def _entities(job: Job) -> list[Entity]:
    return [job, *(Mount(node, "scratch") for node in JOB.nodes)]


def lost(values: Values, job: Job = JOB) -> dict[str, GpuLoss]:
    """What the GPU of each host lost."""
    engine, pressure = Engine(CONFIG), dict.fromkeys(JOB.nodes, 0.0)
    engine.add_facts(TopologyFact(entity, START_NS, "test") for entity in _entities(job))
    told: dict[str, GpuLoss] = {}
    for number in range(ROUNDS):
        for host in JOB.nodes:
            gpu = {"device": host, "gpu": "GPU-0"}
            wait = {"device": host, "resource": "cpu", "kind": "waiting"}
            keys = [series_key(f"gpu_{name}", gpu) for name in ("utilization_ratio", "tensor_active_ratio")]
            busy, active, waiting = values(host, number)
            pressure[host] += waiting * INTERVAL_S
            run(engine, [batch(table(host, keys, "dcgm"), number, [busy, active + 1e-4 * (number % 7)])])
            run(
                engine,
                [batch(table(host, [series_key("node_pressure_seconds_total", wait)]), number, [pressure[host]])],
            )
        told |= {one.device: one.gpus[0] for one in engine.starvation.pop_due()}
    return told


def test_a_host_without_cpu_starves_its_own_gpu_and_makes_the_others_wait() -> None:
    def values(host: str, number: int) -> tuple[float, float, float]:
        if number < FAULT:
            return 1.0, 0.5, 0.02
        return (0.4, 0.2, 0.8) if host == "node1" else (1.0, 0.2, 0.02)

    told = lost(values)
    fault_s = told["node2"].watched_s - (FAULT - 1) * INTERVAL_S
    assert told["node1"].lost_s[WaitCause.DATA_LOADER] == pytest.approx(0.6 * fault_s, rel=0.1)
    assert sum(told["node1"].lost_s.values()) == pytest.approx(0.6 * fault_s, rel=0.1)
    assert set(told["node2"].lost_s) == {WaitCause.PEER}


def test_a_job_that_stands_is_hung_from_its_first_second() -> None:
    told = lost(lambda _, number: (1.0, 0.5, 0.0) if number < FAULT else (0.0, 0.0, 0.0))
    for gpu in told.values():
        assert set(gpu.lost_s) == {WaitCause.HUNG}
        assert gpu.lost_s[WaitCause.HUNG] == pytest.approx(gpu.watched_s - (FAULT - 1) * INTERVAL_S, abs=INTERVAL_S)


def test_gpus_without_a_job_lose_nothing() -> None:
    assert lost(lambda *_: (0.0, 0.0, 0.0), replace(JOB, nodes=())) == {}


def test_older_jobs_are_added_up() -> None:
    engine = Engine(CONFIG)
    busy = table("node1", [series_key("gpu_utilization_ratio", {"device": "node1", "gpu": "GPU-0"})], "dcgm")
    told: dict[str, tuple[GpuLoss, ...]] = {}
    for number in range(60):
        job = Job(str(number // 10), ("node1",))
        before = Job(str(number // 10 - 1), ("node1",))
        at_ns = START_NS + (number * INTERVAL_S - INTERVAL_S // 2) * 10**9
        engine.add_facts([TopologyFact(before, at_ns, "test", gone=True), TopologyFact(job, at_ns, "test")])
        run(engine, [batch(busy, number, [0.5 + 1e-3 * (number % 7)])])
        told |= {one.device: one.gpus for one in engine.starvation.pop_due()}
    assert {gpu.job_id for gpu in told["node1"]} == {"", "3", "4", "5"}
    assert sum(gpu.watched_s for gpu in told["node1"]) == pytest.approx(60 * INTERVAL_S, rel=0.2)


@pytest.mark.parametrize(
    ("found", "idle", "spin"),
    [
        (NOTHING, WaitCause.UNKNOWN, WaitCause.UNKNOWN),
        (replace(NOTHING, hung=frozenset({"7"})), WaitCause.HUNG, WaitCause.HUNG),
        (replace(NOTHING, fabric=frozenset({"7"}), hung=frozenset({"7"})), WaitCause.HUNG, WaitCause.FABRIC),
        (
            replace(NOTHING, held=frozenset({"node1/GPU-0"}), fabric=frozenset({"7"})),
            WaitCause.UNKNOWN,
            WaitCause.THROTTLE,
        ),
        (replace(NOTHING, held=frozenset({"node2/GPU-0"})), WaitCause.UNKNOWN, WaitCause.PEER),
        (replace(NOTHING, writing=frozenset({"node2"})), WaitCause.CHECKPOINT, WaitCause.UNKNOWN),
        (
            replace(NOTHING, writing=frozenset({"node1"}), slow=frozenset({"node1"})),
            WaitCause.STORAGE,
            WaitCause.UNKNOWN,
        ),
        (replace(NOTHING, starved=frozenset({"node2"})), WaitCause.PEER, WaitCause.UNKNOWN),
        (replace(NOTHING, reading=frozenset({"node1"})), WaitCause.STORAGE, WaitCause.UNKNOWN),
    ],
)
def test_the_first_rule_that_holds_names_the_cause(found: WaitEvidence, idle: WaitCause, spin: WaitCause) -> None:
    causes = rules.CAUSES
    assert causes[rules.idle_causes(found, TWO_HOSTS, ONE_JOB)[0]] is idle
    assert causes[rules.spin_causes(found, TWO_HOSTS, ONE_JOB, np.zeros(2))[0]] is spin
