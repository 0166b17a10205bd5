"""A GPU whose clock is stuck, where no other GPU waits for it."""

from collections.abc import Callable, Sequence

import pytest

from analytics.engine import Engine
from telemetry.findings import Finding, FindingState
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, clockwork, run, table

GPUS, QUIET, LASTS, AFTER = 4, 12, 8, 6
FULL, STUCK, IDLE = 1.98e9, 1.2e9, 3.45e8
KEYS = [
    series_key(metric, {"device": "node1", "gpu": f"GPU-{g}", **more})
    for g in range(GPUS)
    for metric, more in (("gpu_sm_clock_hertz", {}), ("gpu_throttle_active", {"reason": "idle"}))
]
Clocks = Callable[[int], Sequence[float]]  # of collection number n after the quiet ones


def stuck(_: int) -> Sequence[float]:
    return STUCK, FULL, FULL, FULL


def found(clocks: Clocks, limited: float = 0.0, started_s: float | None = None, every: int = 1) -> list[Finding]:
    """limited: whether the driver has a reason for lower clocks meanwhile, be it that the GPU is idle. started_s: when
    a job of them began, after the first collection; None without a job. every: so many intervals they are read."""
    engine = Engine(CONFIG)
    if started_s is not None:
        began = Job("1", ("node1",), started_ns=START_NS + round(started_s * SECOND))
        of: list[Entity] = [*(Gpu("node1", f"GPU-{g}", g) for g in range(GPUS)), began]
        engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in of)
    batches, rounds = [], QUIET + LASTS + AFTER
    for seq in range(rounds):
        broken = QUIET <= seq < QUIET + LASTS
        hertz = clocks(seq - QUIET) if broken else [FULL] * GPUS
        values = [value for each in hertz for value in (each, limited if broken else 0.0)]
        batches.append(batch(table("node1", KEYS, "dcgm"), every * seq, values))
    outputs = run(engine, [*batches, *clockwork(0, range(every * rounds, every * rounds + 2))])
    return [one for one in outputs if isinstance(one, Finding) and one.detector == "gpu_clock_held"]


def test_a_clock_that_is_stuck_at_work_is_found_with_its_third_reading() -> None:
    versions = found(stuck)
    assert {str(each.object) for each in versions} == {"gpu:node1/GPU-0"}
    assert (versions[0].observed_ns - START_NS) / SECOND == (QUIET + 2) * INTERVAL_S
    assert (versions[0].onset_ns - START_NS) / SECOND == QUIET * INTERVAL_S
    assert (versions[0].evidence[0].value, versions[0].evidence[0].normal) == (STUCK, FULL)
    assert versions[-1].state is FindingState.CLEARED


def test_two_readings_are_enough_where_they_are_half_a_minute_apart() -> None:
    versions = found(stuck, every=3)
    assert {str(each.object) for each in versions} == {"gpu:node1/GPU-0"}
    assert (versions[0].observed_ns - START_NS) / SECOND == 3 * (QUIET + 1) * INTERVAL_S
    assert found(lambda n: (FULL if n else STUCK, FULL, FULL, FULL), every=3) == []


def test_a_job_that_has_not_shown_lockstep_for_minutes_is_judged() -> None:
    assert {str(each.object) for each in found(stuck, started_s=-600.0)} == {"gpu:node1/GPU-0"}


def test_readings_at_rest_neither_show_nor_end_it() -> None:
    versions = found(lambda n: (IDLE if n % 2 else STUCK, FULL, IDLE if n == 1 else FULL, FULL))
    assert (versions[0].observed_ns - START_NS) / SECOND == (QUIET + 4) * INTERVAL_S
    assert len({each.id for each in versions}) == 1


@pytest.mark.parametrize(
    "quiet",
    [
        pytest.param(lambda: found(stuck, limited=1.0), id="its driver says why"),
        pytest.param(lambda: found(lambda n: [STUCK] * GPUS), id="all of the host: a setting"),
        pytest.param(lambda: found(lambda n: (STUCK * (1 + 0.05 * (n % 2)), FULL, FULL, FULL)), id="it moves"),
        pytest.param(lambda: found(lambda n: (IDLE, FULL, FULL, FULL)), id="it rests"),
        pytest.param(lambda: found(lambda n: (0.95 * FULL, FULL, FULL, FULL)), id="chips differ by as much"),
        pytest.param(lambda: found(stuck, started_s=60.0), id="its job may still show lockstep"),
        pytest.param(lambda: found(lambda n: (STUCK if n < 2 else FULL, FULL, FULL, FULL)), id="twice"),
    ],
)
def test_others_are_not(quiet: Callable[[], list[Finding]]) -> None:
    assert quiet() == []
