"""Faults of GPUs that show in several series together: the hung one among those that spin and wait for it."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from analytics.engine import Engine
from telemetry import objects
from telemetry.findings import Finding, FindingKind
from telemetry.samples import SampleBatch
from telemetry.series import series_key
from telemetry.topology import Entity, Gpu, Job, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG, INTERVAL_S, SECOND, START_NS, batch, clockwork, run, table

HOSTS, GPUS = ("node1", "node2"), 4
METRICS = (
    *("gpu_power_watts", "gpu_utilization_ratio", "gpu_tensor_active_ratio", "gpu_sm_active_ratio"),
    "gpu_sm_clock_hertz",
)
BOOST = 1.98e9
WORKS, SPINS = (620.0, 1.0, 0.5, 0.8, BOOST), (300.0, 1.0, 0.0, 0.13, BOOST)
HANGS, IDLE = (130.0, 1.0, 0.0, 0.0, BOOST), (70.0, 0, 0, 0, BOOST)
TABLES = {
    host: table(
        host, [series_key(m, {"device": host, "gpu": f"GPU-{g}"}) for g in range(GPUS) for m in METRICS], "dcgm"
    )
    for host in HOSTS
}
JOBS = (Job("4711", HOSTS),)
Does = dict[tuple[str, int], tuple[float, ...]]


def pages(seq: int, usual: tuple[float, ...], but: Does) -> list[SampleBatch]:
    found = []
    for host in HOSTS:
        values = [value for g in range(GPUS) for value in but.get((host, g), usual)]
        found.append(batch(TABLES[host], seq, [value + 1e-6 * seq for value in values]))
    return found


def hung(
    usual: tuple[float, ...], but: Does, *, rounds: int = 12, jobs: Sequence[Job] = JOBS, every: int = 1
) -> list[Finding]:
    """Findings after twenty rounds of work and then ``rounds`` of this. every: how often GPUs are read, in rounds."""
    engine = Engine(CONFIG)
    entities: list[Entity] = [*(Gpu(host, f"GPU-{g}", g) for host in HOSTS for g in range(GPUS)), *jobs]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    until = (20 + rounds) * every
    batches = [page for seq in range(0, 20 * every, every) for page in pages(seq, WORKS, {})]
    batches += [page for seq in range(20 * every, until, every) for page in pages(seq, usual, but)]
    outputs = run(engine, [*batches, *clockwork(0, range(until, until + 2))])
    return [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.GPU_HUNG]


def test_the_hung_gpu_is_found_and_those_that_wait_for_it_are_not() -> None:
    found = hung(SPINS, {("node2", 1): HANGS})
    assert {finding.object for finding in found} == {objects.gpu("node2", "GPU-1")}
    assert found[0].onset_ns == START_NS + 20 * INTERVAL_S * SECOND
    assert found[0].observed_ns - found[0].onset_ns <= 30 * SECOND


def test_peers_that_draw_hardly_more_than_the_hung_gpu_differ_from_it_by_their_blocks() -> None:
    """Of a recorded H100: a kernel of one block that never returns, and 24 blocks that poll."""
    found = hung((129.4, 1.0, 0.0, 0.14, BOOST), {("node2", 1): (123.0, 1.0, 0.0, 0.0076, BOOST)})
    assert {finding.object for finding in found} == {objects.gpu("node2", "GPU-1")}


def test_a_gpu_that_polls_at_a_lower_clock_draws_less_and_hangs_not() -> None:
    """Its job waits for something else meanwhile: it polls with as many blocks as the others."""
    assert hung(SPINS, {("node2", 1): (102.0, 1.0, 0.0, 0.13, 0.42 * BOOST)}) == []
    found = hung(SPINS, {("node2", 1): (102.0, 1.0, 0.0, 0.0076, 0.42 * BOOST)})
    assert {finding.object for finding in found} == {objects.gpu("node2", "GPU-1")}


def test_where_the_others_go_on_working_a_small_kernel_is_no_hang() -> None:
    assert hung(WORKS, {("node2", 1): HANGS}) == []


def test_a_gpu_alone_in_its_job_hangs_by_its_own_past() -> None:
    def alone(before: tuple[float, ...]) -> list[Finding]:
        engine = Engine(CONFIG)
        entities: list[Entity] = [Gpu("node1", f"GPU-{g}", g) for g in range(GPUS)]
        entities += [Job(str(g), ("node1",), gpu_indices=(g,)) for g in range(GPUS)]
        engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
        batches = [
            page for seq in range(32) for page in pages(seq, WORKS, {("node1", 1): before if seq < 20 else HANGS})
        ]
        outputs = run(engine, [*batches, *clockwork(0, range(32, 34))])
        return [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.GPU_HUNG]

    assert {finding.object for finding in alone(WORKS)} == {objects.gpu("node1", "GPU-1")}
    assert alone(IDLE) == []  # a notebook that runs one small kernel


def test_a_whole_job_that_waits_has_no_hung_gpu() -> None:
    assert hung(SPINS, {}) == []
    assert hung(HANGS, {}) == []


def test_gpus_of_a_host_that_stop_together_are_a_job_that_waits_though_no_job_is_known() -> None:
    assert hung(HANGS, {}, jobs=()) == []
    assert hung(WORKS, {("node1", 0): HANGS, ("node1", 3): HANGS}, jobs=()) == []
    found = hung(WORKS, {("node1", 0): HANGS, ("node2", 3): HANGS}, jobs=())
    assert {str(finding.object) for finding in found} == {"gpu:node1/GPU-0", "gpu:node2/GPU-3"}


def test_idle_gpus_do_not_hang() -> None:
    assert hung(IDLE, {}) == []


def test_one_value_is_a_hang_where_it_is_the_average_of_half_a_minute() -> None:
    found = hung(SPINS, {("node2", 1): HANGS}, rounds=1, every=3)
    assert {finding.object for finding in found} == {objects.gpu("node2", "GPU-1")}
    assert hung(SPINS, {("node2", 1): HANGS}, rounds=1, every=2) == []


def test_two_samples_are_no_hang() -> None:
    assert hung(SPINS, {("node2", 1): HANGS}, rounds=2) == []


SENDS = 1e9 * INTERVAL_S  # bytes of each host in a collection


def hung_job(
    rounds: int, sent: Callable[[int], float], spun: Sequence[int] = (), *, by_itself: bool = False
) -> list[Finding]:
    """Findings after thirty rounds of work and then ``rounds`` in which one GPU hangs and the others wait for it.

    sent: bytes that a host has sent by then. spun: rounds before in which all of them wait. by_itself: whether each GPU
    has work of its own until then, which the others do not wait for.
    """
    engine, draw = Engine(CONFIG), np.random.default_rng(1)
    entities: list[Entity] = [*(Gpu(host, f"GPU-{g}", g) for host in HOSTS for g in range(GPUS)), *JOBS]
    engine.add_facts(TopologyFact(entity, START_NS - 1, "test") for entity in entities)
    nics = [
        table(host, [series_key("ib_port_transmit_bytes_total", {"device": host, "port": "mlx5_0"})], "node")
        for host in HOSTS
    ]
    batches: list[SampleBatch] = []
    for seq in range(30 + rounds):
        batches += [batch(nic, seq, [sent(seq)]) for nic in nics]
        odd: Does = {("node2", 1): HANGS} if seq >= 30 else {}
        if by_itself and seq < 30:
            active = draw.uniform(0.3, 0.9, (len(HOSTS), GPUS)).tolist()
            odd = {
                (host, g): (620.0, 1.0, 0.5, active[n][g], BOOST) for n, host in enumerate(HOSTS) for g in range(GPUS)
            }
        batches += pages(seq, SPINS if seq >= 30 or seq in spun else WORKS, odd)
    outputs = run(engine, [*batches, *clockwork(0, range(30 + rounds, 32 + rounds))])
    return [one for one in outputs if isinstance(one, Finding) and one.kind is FindingKind.GPU_HUNG]


def stops(seq: int) -> float:
    return SENDS * min(seq, 29)


def test_the_first_value_is_a_hang_where_the_job_sends_nothing_for_longer_than_ever() -> None:
    (first, *_) = hung_job(1, stops)
    assert first.object == objects.gpu("node2", "GPU-1")
    assert first.observed_ns == START_NS + 30 * INTERVAL_S * SECOND


@pytest.mark.parametrize(
    ("sent", "spun"),
    [
        pytest.param(lambda seq: SENDS * seq, (), id="its job goes on sending"),
        pytest.param(lambda seq: stops(seq) - SENDS * min(max(seq - 20, 0), 2), (21, 22), id="it has waited as long"),
    ],
)
def test_the_first_value_is_no_hang_otherwise(sent: Callable[[int], float], spun: Sequence[int]) -> None:
    assert hung_job(1, sent, spun) == []
    assert hung_job(3, sent, spun)


def test_one_of_a_job_that_is_not_in_lockstep_hangs_once_all_others_wait_for_it() -> None:
    """As in a rollout: each GPU has an amount of work of its own, and those that are done poll."""
    assert hung_job(1, stops, by_itself=True) == []
    found = hung_job(4, stops, by_itself=True)
    assert {finding.object for finding in found} == {objects.gpu("node2", "GPU-1")}
    assert hung_job(4, lambda seq: SENDS * seq, by_itself=True) == []


def limited(*after: list[float]) -> set[str]:
    """GPUs that are found after the power limits of each host's went from 700 W to these."""
    tables = []
    for number, limits in enumerate(after, 1):
        host = f"node{number}"
        keys = [series_key("gpu_power_limit_watts", {"device": host, "gpu": f"GPU-{g}"}) for g in range(len(limits))]
        tables.append((table(host, keys, "dcgm"), limits))
    batches = [
        batch(of, seq, limits if seq >= 4 else [700.0] * len(limits)) for seq in range(8) for of, limits in tables
    ]
    outputs = run(Engine(CONFIG), [*batches, *clockwork(0, range(8, 10))])
    return {one.object.name for one in outputs if isinstance(one, Finding)}


def test_one_lowered_power_limit_is_found_and_a_new_limit_for_all_is_not() -> None:
    assert limited([700, 500, 700, 700, 700]) == {"node1/GPU-1"}
    assert limited([500] * 5) == set()


def test_a_new_limit_for_one_host_is_a_setting_and_one_gpu_of_it_is_still_found() -> None:
    assert limited([700] * 5, [500] * 5, [650] * 5) == set()
    assert limited([700] * 5, [500, 500, 500, 300, 500]) == {"node2/GPU-3"}


def test_hosts_of_two_gpus_are_compared_with_the_cluster() -> None:
    assert limited([700, 700], [500, 700], [700, 700]) == {"node2/GPU-0"}
