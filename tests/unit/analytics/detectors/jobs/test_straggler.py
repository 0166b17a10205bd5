"""Stragglers in large jobs: what is no straggler although one of many GPUs looks like one, and what still is."""

from collections.abc import Callable

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, START_NS, batch, clockwork, run, table

HOSTS, GPUS = tuple(f"node{number}" for number in range(1, 7)), 4
METRICS = ("gpu_utilization_ratio", "gpu_sm_active_ratio", "gpu_tensor_active_ratio", "gpu_sm_clock_hertz")
AT_WORK, AT_REST = 1.98e9, 3.45e8  # hertz, of an H100
Reading = tuple[float, float, float]  # part of the time with kernels, SM activity, clock
Work = Callable[[int, int, int], Reading]  # round, host, GPU


def stragglers(work: Work, rounds: int, *, at_limit: Callable[[int, int, int], bool] | None = None) -> set[str]:
    """Names of the GPUs that were found in a job on all hosts. at_limit: which the power limit holds; None: no GPU says
    so."""
    engine, batches = Engine(CONFIG), list[SampleBatch]()
    entities: list[Entity] = [Gpu(host, f"GPU-{host}-{g}", g) for host in HOSTS for g in range(GPUS)]
    engine.add_facts(TopologyFact(each, START_NS - 1, "test") for each in [*entities, Job("7", HOSTS, "train", "ada")])
    for number in range(rounds):
        for place, host in enumerate(HOSTS):
            keys = [
                series_key(metric, {"device": host, "gpu": f"GPU-{host}-{g}"})
                for g in range(GPUS)
                for metric in METRICS
            ]
            limits = [
                series_key("gpu_throttle_active", {"device": host, "gpu": f"GPU-{host}-{g}", "reason": "sw_power_cap"})
                for g in range(GPUS)
                if at_limit is not None
            ]
            values = [
                value
                for g in range(GPUS)
                for busy, active, clock in [work(number, place, g)]
                for value in (busy, active, 0.6 * active, clock)
            ]
            values += [float(at_limit(number, place, g)) for g in range(GPUS) if at_limit is not None]
            of = table(host, [*keys, *limits], "dcgm")
            batches.append(batch(of, number, values, at_s=number * INTERVAL_S + place))
    found = run(engine, [*batches, *clockwork(0, range(rounds, rounds + 2))])
    return {each.object.name for each in found if isinstance(each, Finding) and each.kind is FindingKind.STRAGGLER}


def phases(number: int, host: int, gpu: int) -> Reading:
    """Two intervals of work, one of rest. The second host is always read when the work is just over."""
    phase = number % 3
    if phase == 2:
        return 0.0, 0.0, AT_REST
    return 1.0 - 0.05 * phase, 0.8 - 0.04 * phase, AT_REST if host == 1 and phase == 1 else AT_WORK


def test_the_clock_of_a_host_that_was_read_when_its_work_was_over_makes_no_straggler() -> None:
    assert stragglers(phases, 60) == set()


@pytest.mark.parametrize("every", [7, 30], ids=["pauses now and then", "hardly any pause"])
def test_a_gpu_that_stays_slow_while_it_works_is_found(every: int) -> None:
    def slow(number: int, host: int, gpu: int) -> Reading:
        if number % every == every - 1:
            return 0.0, 0.0, AT_REST
        is_slow = (host, gpu) == (2, 1) and number >= 40
        return 1.0, 0.5 + 0.3 * is_slow + 0.01 * (number % 3), 0.7 * AT_WORK if is_slow else AT_WORK

    assert stragglers(slow, 48) == {"node3/GPU-node3-1"}


@pytest.mark.parametrize("busy", [1.0, 0.8], ids=["polls all the time", "pauses"])
def test_a_clock_that_is_stuck_while_the_job_waits_for_something_else_is_found(busy: float) -> None:
    """None of its GPUs computes, so none works longer: the job will wait for it once it goes on."""

    def stands_still(number: int, host: int, gpu: int) -> Reading:
        if number < 40:
            return 1.0, 0.5 + 0.01 * (number % 3), AT_WORK
        return busy, 0.02, 0.6 * AT_WORK if (host, gpu) == (2, 1) else AT_WORK

    assert stragglers(stands_still, 44) == ({"node3/GPU-node3-1"} if busy == 1.0 else set())


def amounts(number: int, host: int, gpu: int) -> Reading:
    """All begin and wait together, and each has its own amount of work, another one every minute."""
    own = np.random.default_rng([number // 6, host, gpu]).lognormal(0.0, 0.2)
    together = 0.1 + 0.5 * float(np.random.default_rng(number).random())
    return 1.0, min(0.95, own * together), AT_WORK


def test_who_has_most_to_do_where_each_has_its_own_amount_of_work_is_no_straggler() -> None:
    assert stragglers(amounts, 240) == set()


def _longer(number: int, host: int, gpu: int) -> Reading:
    if number % 7 == 6:
        return 0.0, 0.0, AT_REST
    is_slow = (host, gpu) == (2, 1) and number >= 40
    return 1.0, 0.5 + 0.3 * is_slow + 0.01 * (number % 3), (0.6 if is_slow else 0.8) * AT_WORK


@pytest.mark.parametrize("held", [True, False], ids=["as the others are", "with power to spare"])
def test_who_works_longer_is_no_straggler_where_the_power_limit_holds_it(held: bool) -> None:
    found = stragglers(_longer, 60, at_limit=lambda number, host, gpu: held or (host, gpu) != (2, 1))
    assert found == (set() if held else {"node3/GPU-node3-1"})
