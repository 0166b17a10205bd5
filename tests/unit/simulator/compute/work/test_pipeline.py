"""Pipelines: the order of 1F1B, the bubble, and what delays them."""

import numpy as np
import pytest

from simulator.compute.figures import COMPUTE, SPIN
from simulator.compute.work.kind import WorkKind
from simulator.compute.work.pipeline import ACTIVATION_BYTES, MICRO_BATCHES
from simulator.compute.work.schedule import Progress, advance_stages, is_forward
from simulator.fabric.state import Floats
from tests.unit.simulator.compute.work.clusters import after, doing

EACH_S, WIRE_S = 0.15, 0.0005


def ran(stages: int, dt: float, seconds: float, clock: Floats | None = None, micro_batches: int = 16) -> Floats:
    """[p, 2] part of the time until the end in which each stage computes and polls; then the seconds that it took."""
    progress, gpus = Progress.of(stages), np.arange(stages)[:, None]
    progress.begin(np.full(stages, EACH_S))
    spent, elapsed = np.zeros((stages, 5)), 0.0
    clock = np.ones(stages) if clock is None else clock
    while elapsed < seconds:
        sent = np.stack([progress.forward[:-1], progress.backward[1:]])  # delivered within the step
        hung = np.zeros(stages, np.bool_)
        done = advance_stages(dt, WIRE_S, micro_batches, gpus, clock, hung, progress, sent, spent)
        elapsed += dt
        if done.all():
            return np.append(spent[:, [COMPUTE, SPIN]] / elapsed, np.full((stages, 1), elapsed), axis=1)
    pytest.fail(f"not done after {seconds} s: {progress}")


@pytest.mark.parametrize("dt", [0.01, 0.05])
@pytest.mark.parametrize(("stages", "micro_batches"), [(1, 16), (2, 16), (4, 8), (8, 16)])
def test_a_stage_is_idle_for_the_share_of_the_bubble(stages: int, micro_batches: int, dt: float) -> None:
    """(p - 1)/(m + p - 1), Narayanan et al. 2021; activations take some time in addition."""
    found = ran(stages, dt, 60.0, micro_batches=micro_batches)
    bubble = (stages - 1) / (micro_batches + stages - 1)
    ideal_s = EACH_S * (micro_batches + stages - 1)
    assert found[0, 2] == pytest.approx(ideal_s + 2 * (stages - 1) * WIRE_S, rel=0.02, abs=dt)
    assert found[:, 1] == pytest.approx(np.full(stages, bubble), abs=0.025)
    assert found[:, 0] * found[0, 2] == pytest.approx(np.full(stages, EACH_S * micro_batches))


def test_the_slowest_stage_sets_the_pace() -> None:
    clock = np.array([1.0, 1.0, 0.5, 1.0])
    found = ran(4, 0.01, 60.0, clock)
    assert found[0, 2] == pytest.approx(EACH_S * (16 / 0.5 + 3), rel=0.05)
    assert found[2, 0] > 0.9
    assert found[[0, 1, 3], 0].max() < 0.5


@pytest.mark.parametrize("stage", range(4))
def test_no_stage_holds_more_micro_batches_than_there_are_stages_behind_it(stage: int) -> None:
    order = [is_forward(k, stage, 4, 8) for k in range(16)]
    held = np.cumsum(np.where(order, 1, -1))
    assert (sum(order), held.max(), held.min(), held[-1]) == (8, 4 - stage, 0, 0)


def test_stages_begin_one_after_the_other() -> None:
    progress, spent = Progress.of(3), np.zeros((3, 5))
    progress.begin(np.full(3, EACH_S))
    gpus, clock, hung = np.arange(3)[:, None], np.ones(3), np.zeros(3, np.bool_)
    advance_stages(0.05, WIRE_S, 8, gpus, clock, hung, progress, np.zeros((2, 2), np.int64), spent)
    assert spent[:, COMPUTE].tolist() == pytest.approx([0.05, 0.0, 0.0])
    advance_stages(0.04, WIRE_S, 8, gpus, clock, hung, progress, np.array([[1, 0], [0, 0]]), spent)
    assert spent[:, COMPUTE].tolist() == pytest.approx([0.09, 0.04, 0.0])


def test_a_stage_waits_for_activations_that_do_not_arrive() -> None:
    progress, spent = Progress.of(2), np.zeros((2, 5))
    progress.begin(np.full(2, EACH_S))
    gpus, clock, hung = np.arange(2)[:, None], np.ones(2), np.zeros(2, np.bool_)
    for _ in range(200):
        advance_stages(0.01, WIRE_S, 8, gpus, clock, hung, progress, np.zeros((2, 1), np.int64), spent)
    assert progress.forward.tolist() == [2, 0], "the first stage waits for its first backward pass"
    assert spent[1, SPIN] > 1.95


def test_on_a_cluster_iterations_take_the_bubble_longer_and_little_is_sent() -> None:
    cluster = doing(WorkKind.PIPELINE, step_ms=10, load_bytes=0.0, checkpoint_period_s=1e6)
    after(cluster, 3)
    first, sent = cluster.jobs[0].iterations, cluster.machine.fabric.queues.sent.copy()
    after(cluster, 33)
    count = cluster.jobs[0].iterations - first
    ideal_s = 1.2 * (MICRO_BATCHES + 3) / MICRO_BATCHES
    assert count == pytest.approx(30 / ideal_s, abs=1.2)
    fabric = cluster.machine.fabric
    nics = [fabric.egress(nic) for nic in cluster.layout.device_nics["node2"]]
    each = (fabric.queues.sent - sent)[nics] / count
    assert each == pytest.approx(np.full(2, 2 * MICRO_BATCHES * ACTIVATION_BYTES), rel=0.1), "to both neighbours"


def test_stages_follow_the_hosts_and_the_first_hold_most_activations() -> None:
    cluster = after(doing(WorkKind.PIPELINE), 5)
    (job,) = cluster.jobs
    assert job.nodes == ("node1", "node2", "node3", "node4")
    used = cluster.readings.gpus.framebuffer_used.reshape(4, 2)[:, 0]
    assert (np.diff(used) < 0).all()


def test_sixteen_hosts_are_two_pipelines_that_reduce_their_gradients_between_them() -> None:
    cluster = after(doing(WorkKind.PIPELINE, hosts=16, gpus=1, load_bytes=0.0), 20)
    assert cluster.jobs[0].iterations >= 5
    fabric, nics = cluster.machine.fabric, cluster.layout.device_nics
    flows = fabric.flows
    ends = {(int(s), int(d)) for s, d in zip(flows.source[flows.used], flows.destination[flows.used], strict=True)}
    assert (nics["node3"][0], nics["node11"][0]) in ends
    assert (nics["node8"][0], nics["node9"][0]) not in ends, "the last stage sends to no next one"
