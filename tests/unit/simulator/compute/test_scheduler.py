"""The scheduler: who gets which hosts when, and the changes that it logs. Jobs: their phases."""

import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.compute.figures import COMPUTE, SPIN, WAIT
from simulator.compute.gpus import Gpus
from simulator.compute.jobs import JobRun, Phase, compute
from simulator.compute.rings import Rings
from simulator.compute.scheduler import Scheduler, _alternate
from simulator.compute.storage import READ, WRITE, Storage
from simulator.config import JobMix, SimulatorConfig
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric
from simulator.wiring import build_layout
from telemetry.changes import ChangeKind

LAYOUT = build_layout(SimulatorConfig(hosts=8, gpus_per_host=2))
DT = 0.01


def scheduler(**mix: float) -> Scheduler:
    rng = np.random.default_rng(1)
    fabric, routes = Fabric(LAYOUT, 1024), Routes(LAYOUT)
    storage, gpus = Storage(LAYOUT, fabric, routes, rng), Gpus(LAYOUT, rng, 1.0)
    return Scheduler(
        layout=LAYOUT,
        fabric=fabric,
        routes=routes,
        storage=storage,
        gpus=gpus,
        mix=JobMix.model_validate({"jobs": 2, **mix}),
        rng=rng,
        window=1e6,
        start_ns=0,
    )


@pytest.mark.parametrize(
    ("jobs", "hosts"),
    [
        (0, []),
        (1, [[0, 1, 2, 3, 4, 5, 6, 7]]),
        (2, [[0, 2, 4, 6], [1, 3, 5, 7]]),
        (3, [[0, 3, 6], [1, 4, 7], [2, 5]]),
        (64, [[0, 4], [1, 5], [2, 6], [3, 7]]),  # a ring needs two hosts
    ],
)
def test_hosts_are_divided_among_the_jobs(jobs: int, hosts: list[list[int]]) -> None:
    assert [slot.hosts for slot in scheduler(jobs=jobs).slots] == hosts


def test_jobs_start_one_after_the_other() -> None:
    found = scheduler(jobs=3)
    assert [slot.starts_ns for slot in found.slots] == [2 * NS_PER_S, 9 * NS_PER_S, 16 * NS_PER_S]
    started = []
    for second in range(1, 20):
        found.step(second * NS_PER_S, DT)
        started.append(len(found.running))
    assert started == [0] + [1] * 7 + [2] * 7 + [3] * 4


def test_ranks_alternate_between_the_pods() -> None:
    assert _alternate([0, 1, 2, 3, 4], lambda host: "a" if host < 3 else "b") == [0, 3, 1, 4, 2]
    found = scheduler(jobs=1)
    found.step(2 * NS_PER_S, DT)
    pods = [LAYOUT.devices[LAYOUT.device_index[node]].pod for node in found.running[0].record.nodes]
    assert pods == ["pod1", "pod2"] * 4


def test_a_job_has_an_id_a_name_an_owner_and_a_change_event() -> None:
    found = scheduler()
    found.step(2 * NS_PER_S, DT)
    (run,) = found.running
    record, (change,) = run.record, found.changes
    assert (record.job_id, record.name, record.user, record.started_ns) == (
        "4711",
        "pretrain-llm",
        "alice",
        2 * NS_PER_S,
    )
    assert set(record.nodes) == {"node1", "node3", "node5", "node7"}
    assert (change.kind, change.id, change.starts_ns) == (ChangeKind.JOB_START, "job_start/4711", 2 * NS_PER_S)
    assert [str(ref) for ref in change.objects][:2] == ["job:4711", f"device:{record.nodes[0]}"]


def test_drained_hosts_take_no_job_and_without_hosts_there_is_none() -> None:
    found = scheduler(jobs=1)
    found.drained.update(range(6))
    found.step(2 * NS_PER_S, DT)
    assert found.running[0].members.hosts == [6, 7]
    found = scheduler(jobs=1)
    found.drained.update(range(8))
    found.step(2 * NS_PER_S, DT)
    assert found.running == []


def test_a_job_ends_with_its_lifetime_and_the_next_one_follows_after_the_gap() -> None:
    found = scheduler(jobs=1, lifetime_s=50.0, gap_s=10.0)
    found.step(2 * NS_PER_S, DT)
    found.step(52 * NS_PER_S, DT)
    assert found.running == []
    (ended,) = found.ended
    assert ended.ends_ns == 52 * NS_PER_S
    assert found.changes[-1].summary == "pretrain-llm completed"
    found.step(61 * NS_PER_S, DT)
    assert found.running == []
    found.step(62 * NS_PER_S, DT)
    assert found.running[0].record.job_id == "4712"


def test_a_job_that_ends_gives_back_its_flows_memory_and_requests() -> None:
    found = scheduler(jobs=1)
    found.step(2 * NS_PER_S, DT)
    slot = found.slots[0]
    used = int(found.fabric.flows.used.sum())
    found.gpus.framebuffer[:] = 5.0
    found.end(slot, 3 * NS_PER_S, "died of XID 79")
    assert used - int(found.fabric.flows.used.sum()) == 8 * 2 * 4  # members, rails, queue pairs
    assert found.gpus.framebuffer.sum() == 0.0
    assert not found.storage.pending(READ, list(range(8)))
    assert found.changes[-1].summary == "pretrain-llm died of XID 79"
    found.end(slot, 4 * NS_PER_S, "again")
    assert len(found.ended) == 1


def test_jobs_on_a_host_are_found_while_they_run() -> None:
    found = scheduler()
    found.step(20 * NS_PER_S, DT)
    assert [slot.hosts for slot in found.jobs_on(3)] == [[1, 3, 5, 7]]
    found.end(found.slots[1], 21 * NS_PER_S, "completed")
    assert found.jobs_on(3) == []


def finish_transfers(found: Scheduler, kind: int) -> None:
    found.fabric.flows.backlog[found.storage.rows[kind]] = 0.0


def trained(found: Scheduler) -> JobRun:
    run = found.running[0]
    assert isinstance(run, JobRun)
    return run


def finish_all_reduce(found: Scheduler) -> None:
    rings = trained(found)._rings
    assert isinstance(rings, Rings)
    found.fabric.flows.delivered[rings.rows] = 1e15


def test_a_job_loads_trains_and_writes_checkpoints() -> None:
    found = scheduler(jobs=1, checkpoint_period_s=10.0, compute_s=0.001)
    found.step(2 * NS_PER_S, DT)
    run = trained(found)
    phases = [run.phase]
    finish_transfers(found, READ)
    found.step(3 * NS_PER_S, DT)
    phases.append(run.phase)  # the first data are there: it trains, and reads the next ones
    finish_all_reduce(found)
    found.step(4 * NS_PER_S, DT)
    phases.append(run.phase)  # the iteration is over before the next data are there
    finish_transfers(found, READ)
    found.step(5 * NS_PER_S, DT)
    finish_transfers(found, READ)
    finish_all_reduce(found)
    found.step(7 * NS_PER_S, DT)  # 40 % of the period after its start: the first checkpoint is due
    phases.append(run.phase)
    finish_transfers(found, WRITE)
    found.step(8 * NS_PER_S, DT)
    phases.append(run.phase)
    assert phases == [Phase.LOAD, Phase.TRAIN, Phase.LOAD, Phase.CHECKPOINT, Phase.TRAIN]
    assert (run.record.iterations, run.record.checkpoints, run.record.last_checkpoint_ns) == (2, 1, 8 * NS_PER_S)
    assert run.next_checkpoint_ns == 18 * NS_PER_S


def test_gpus_wait_while_their_job_loads() -> None:
    found = scheduler(jobs=1)
    found.step(2 * NS_PER_S, DT)
    found.step(3 * NS_PER_S, DT)
    assert found.gpus.spent[:, WAIT].tolist() == [DT] * len(LAYOUT.gpus)


def test_each_gpu_computes_at_its_clock_and_polls_when_it_is_done() -> None:
    gpus = np.array([[0, 1], [2, 3]])
    clock, hung = np.array([1.0, 0.5, 1.0, 1.0]), np.array([False, False, False, True])
    left = np.array([[0.004, 0.004], [0.02, 0.02]])
    spent, ready = np.zeros((4, 5)), np.zeros((2, 2), np.bool_)
    compute(DT, gpus, clock, hung, left, spent, ready)
    assert spent[:, COMPUTE].tolist() == pytest.approx([0.004, 0.008, 0.01, 0.01])
    assert spent[:, SPIN].tolist() == pytest.approx([0.006, 0.002, 0.0, 0.0])
    assert ready.tolist() == [[True, True], [False, False]]
    assert left[1].tolist() == pytest.approx([0.01, 0.02]), "a hung GPU gets nowhere"


def test_jobs_side_by_side_end_and_write_checkpoints_at_different_times() -> None:
    found = scheduler(jobs=3, lifetime_s=100.0, checkpoint_period_s=40.0)
    found.step(20 * NS_PER_S, DT)
    assert [slot.ends_ns for slot in found.slots] == [120 * NS_PER_S, 140 * NS_PER_S, 160 * NS_PER_S]
    first_s = [(run.next_checkpoint_ns - 20 * NS_PER_S) / NS_PER_S for run in found.running]
    assert first_s == pytest.approx([0.4 * 40, 0.7 * 40, 1.0 * 40])
