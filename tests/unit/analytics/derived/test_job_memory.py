"""A job whose GPUs hold no memory any more has ended. The whole engine; four hosts, read at different moments."""

from collections.abc import Callable

import numpy as np
import pytest

from analytics.config import EngineConfig
from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Role, TopologyFact
from tests.unit.analytics.small_cluster import SECOND, START_NS

HOSTS, GPUS, INTERVAL_S = 4, 2, 10
NODES = tuple(f"node{host}" for host in range(HOSTS))
ENDS_S, LASTS_S = 260, 480
HELD, DRIVER = 70e9, 0.6e9
SHOWS_A_WAIT = {FindingKind.JOB_SLOWED, FindingKind.JOB_STALLED, FindingKind.STRAGGLER, FindingKind.CHECKPOINT_LATE}
METRICS = ("gpu_tensor_active_ratio", "gpu_utilization_ratio", "gpu_sm_clock_hertz", "gpu_memory_used_bytes")

WORKS = (0.4, 1.0, 1.98e9, HELD)
WAITS = (0.0, 1.0, 1.98e9, HELD)
ENDED = (0.0, 0.0, 0.3e9, DRIVER)
Values = tuple[float, float, float, float]


def shown(after: Callable[[int, float], Values], hold: float = 1.0) -> set[FindingKind]:
    """Kinds of findings that a job has once ``after`` says what the GPUs of a host do. hold: part of the memory."""
    engine = Engine(EngineConfig(interval_s=INTERVAL_S))
    entities: list[Entity] = [Device(node, Role.HOST) for node in NODES]
    entities += [Gpu(node, f"GPU-{node}-{n}", n, "") for node in NODES for n in range(GPUS)]
    entities.append(Job("7", NODES, "train", "ada", started_ns=START_NS))
    engine.add_facts(TopologyFact(entity, START_NS - SECOND, "inventory") for entity in entities)
    rng = np.random.default_rng(1)
    found: set[FindingKind] = set()
    for seq in range(LASTS_S // INTERVAL_S):
        for host, node in enumerate(NODES):
            at_s = seq * INTERVAL_S + host * INTERVAL_S / HOSTS
            now = WORKS if at_s < ENDS_S else after(host, at_s)
            phase = 1.0 + 0.06 * (-1) ** (seq + host)  # of the step: common to a host
            engine.observe(_page(node, seq, at_s, now, phase * rng.normal(1.0, 0.01, GPUS), hold))
        for output in engine.advance():
            if isinstance(output, Finding) and output.state is FindingState.ACTIVE:
                found.add(output.kind)
    return found & SHOWS_A_WAIT


def _page(node: str, seq: int, at_s: float, now: Values, noise: np.ndarray, hold: float) -> SampleBatch:
    keys = [series_key(name, {"device": node, "gpu": f"GPU-{node}-{n}"}) for n in range(GPUS) for name in METRICS]
    active, busy, clock, used = now
    values = np.array([value for n in range(GPUS) for value in (active * noise[n], busy, clock, hold * used)])
    at_ns = START_NS + round(at_s * SECOND)
    table, rows = SeriesTable(f"dcgm/{node}", node, tuple(keys)), np.arange(len(keys), dtype=np.uint32)
    return SampleBatch(table, Collection(START_NS, seq, at_ns, 0.1), np.full(rows.size, at_ns), rows, values)


def test_a_job_that_keeps_its_memory_waits() -> None:
    assert FindingKind.JOB_SLOWED in shown(lambda host, at_s: WAITS)


@pytest.mark.parametrize("hold", [1.0, 0.1])
def test_a_job_whose_gpus_are_free_has_ended(hold: float) -> None:
    assert shown(lambda host, at_s: ENDED, hold) == set()


def test_a_job_ends_on_its_hosts_one_after_the_other() -> None:
    """The host that is collected last still works when the others are free: it keeps nobody waiting."""
    assert shown(lambda host, at_s: WORKS if at_s < ENDS_S + 3 * host else ENDED) == set()


def test_a_job_waits_for_the_host_whose_processes_died() -> None:
    assert FindingKind.JOB_SLOWED in shown(lambda host, at_s: ENDED if host == 2 else WAITS)


def test_a_job_that_takes_its_memory_again_is_judged_again() -> None:
    """A server of models that slept: what comes after is its work, as before."""

    def sleeps(host: int, at_s: float) -> Values:
        return ENDED if at_s < ENDS_S + 60 else WORKS if at_s < ENDS_S + 100 else WAITS

    assert FindingKind.JOB_SLOWED in shown(sleeps)
