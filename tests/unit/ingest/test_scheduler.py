"""When targets are collected."""

import asyncio
import itertools
from collections.abc import AsyncIterator

import pytest

from ingest.admission.gate import Gate
from ingest.admission.limit import CollectionLimit
from ingest.admission.line import Priority
from ingest.admission.reasons import DeviceBusy, OutOfDescriptors, SkipReason
from ingest.collectors.base import CollectorOutput
from ingest.collectors.exposition.collector import down_batch
from ingest.config import SchedulerConfig
from ingest.scheduler import SLOT_S, Scheduler, offset
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import TopologyFact
from tests.waiting import until


def test_the_limit_of_unhealthy_targets_is_read_under_its_old_name_too() -> None:
    assert SchedulerConfig.model_validate({"doubtful_max": 7}) == SchedulerConfig(unhealthy_max=7)


class Target:
    """Answers after ``takes_s``, or never; counts what happens at once."""

    def __init__(
        self, name: str, *, interval_s: float = 0.05, takes_s: float | None = 0.0, down: DownReason | None = None
    ) -> None:
        self.name, self.interval_s = name, interval_s
        self.takes_s, self.down = takes_s, down
        self.started = self.running = self.most = 0
        self.stopped = False
        self.fails = False
        self.priority = Priority.NORMAL

    async def collect(self, now_ns: int) -> CollectorOutput:
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            if self.takes_s is None:
                await asyncio.Event().wait()
            elif self.takes_s:
                await asyncio.sleep(self.takes_s)
            if self.fails:
                raise RuntimeError("a bug of ours")
        finally:
            self.running -= 1
        facts: tuple[TopologyFact, ...] = ()
        if self.down is None:
            return facts
        return down_batch(SeriesTable(self.name, "d", ()), Collection(0, 0, now_ns, 0.0, self.down))

    async def stop(self) -> None:
        self.stopped = True


class Emitted(list[CollectorOutput]):
    def emit(self, output: CollectorOutput) -> None:
        self.append(output)


@pytest.fixture
def emitted() -> Emitted:
    return Emitted()


@pytest.fixture
async def scheduler(emitted: Emitted) -> AsyncIterator[Scheduler]:
    ticks = itertools.count(1)
    made = Scheduler(Gate(SchedulerConfig(unhealthy_max=4)), emitted.emit, lambda: next(ticks))
    yield made
    await made.stop()


@pytest.mark.parametrize(
    ("name", "digest"),
    [("", 0x4E9B03474EDA9A), ("job/a:1", 0xA0A015D1CA7D97), ("node/10.0.0.1:9100", 0x3CC12164BF769B)],
)
def test_the_offset_of_a_target_never_changes(name: str, digest: int) -> None:
    """``printf NAME | b2sum -l 56``: in every process and after every restart the same part of the interval."""
    assert offset(name) == digest / 2**56


def test_targets_are_spread_over_the_interval() -> None:
    offsets = [offset(f"job/node{number}:9100") for number in range(10_000)]
    buckets = [sum(1 for each in offsets if lower <= each * 10 < lower + 1) for lower in range(10)]
    assert min(buckets) > 900
    assert max(buckets) < 1100


async def test_a_target_is_collected_every_interval(scheduler: Scheduler, emitted: Emitted) -> None:
    target = Target("a")
    scheduler.add(target)
    await until(lambda: target.started >= 3)
    assert len(emitted) >= 2
    assert scheduler.targets_up == 1


async def test_collections_of_one_target_never_overlap(scheduler: Scheduler) -> None:
    slow, fast = Target("slow", interval_s=0.02, takes_s=0.1), Target("fast", interval_s=0.02)
    scheduler.add(slow)
    scheduler.add(fast)
    await until(lambda: fast.started > slow.started >= 3)
    assert slow.most == 1


async def test_ten_thousand_dead_targets_do_not_hold_up_the_living(scheduler: Scheduler) -> None:
    alive = Target("alive", interval_s=0.2)
    scheduler.add(alive)
    await until(lambda: alive.started >= 1)
    dead = [Target(f"dead{number}", interval_s=0.2, takes_s=None) for number in range(10_000)]
    for target in dead:
        scheduler.add(target)
    before = alive.started
    await until(lambda: alive.started >= before + 5)
    assert sum(target.running for target in dead) == 4  # unhealthy_max


async def test_a_target_that_failed_is_unhealthy_until_it_answers(scheduler: Scheduler, emitted: Emitted) -> None:
    target = Target("a", down=DownReason.REFUSED)
    scheduler.add(target)
    await until(lambda: len(emitted) >= 2)
    assert scheduler.targets_up == 0
    assert isinstance(emitted[0], SampleBatch)
    assert emitted[0].collection.down is DownReason.REFUSED
    target.down = None
    await until(lambda: scheduler.targets_up == 1)


async def test_a_bug_in_one_collector_ends_neither_it_nor_the_others(scheduler: Scheduler) -> None:
    broken, good = Target("broken"), Target("good")
    broken.fails = True
    scheduler.add(broken)
    scheduler.add(good)
    await until(lambda: broken.started >= 2 and good.started >= 2)


async def test_removed_targets_are_cancelled_and_stopped(scheduler: Scheduler) -> None:
    stuck = Target("stuck", takes_s=None)
    scheduler.add(stuck)
    await until(lambda: stuck.running == 1)
    scheduler.remove(["stuck"])
    await until(lambda: stuck.stopped and stuck.running == 0)
    assert scheduler.names == set()


async def test_stop_ends_everything_and_may_be_repeated(scheduler: Scheduler) -> None:
    stuck = Target("stuck", takes_s=None)
    scheduler.add(stuck)
    await until(lambda: stuck.running == 1)
    await scheduler.stop()
    await scheduler.stop()
    assert stuck.stopped
    assert stuck.running == 0


async def test_targets_start_together_in_slots_wherever_they_are_in_their_interval(scheduler: Scheduler) -> None:
    slots: list[set[int]] = []

    class Noting(Target):
        async def collect(self, now_ns: int) -> CollectorOutput:
            running = {id(task) for task in asyncio.all_tasks()}
            slots.append(running)
            return await super().collect(now_ns)

    targets = [Noting(f"node{number}", interval_s=SLOT_S) for number in range(8)]
    for target in targets:
        scheduler.add(target)
    await until(lambda: all(target.started >= 3 for target in targets))
    # All tasks of a slot are there when the first of them runs: the eight and the test itself.
    assert max(map(len, slots)) == len(targets) + 1


async def test_no_more_run_than_the_gate_admits_and_all_get_their_turn(emitted: Emitted) -> None:
    scheduler = Scheduler(Gate(SchedulerConfig(), limit=CollectionLimit(4)), emitted.emit, lambda: 1)
    order, held = list[str](), list[asyncio.Event]()

    class Held(Target):
        async def collect(self, now_ns: int) -> CollectorOutput:
            order.append(self.name)
            if scheduler.targets_up == len(names):
                held.append(may_end := asyncio.Event())
                await may_end.wait()
            return await super().collect(now_ns)

    names = {f"node{number}" for number in range(40)}
    for name in names:
        scheduler.add(Held(name, interval_s=SLOT_S))
    # From here on all stand in one line, and the next begin when the test ends those that run.
    await until(lambda: len(held) == 4 and scheduler.waiting == 36)
    order.clear()
    for _ in range(20):
        assert scheduler.busiest == 4
        for may_end in held:
            may_end.set()
        held.clear()
        await until(lambda: len(held) == 4 and scheduler.waiting == 36)
    assert len(order) == 80
    assert set(order[:40]) == set(order[40:]) == names
    assert scheduler.skipped[SkipReason.CPU] > 0
    await scheduler.stop()


async def test_while_nothing_is_admitted_targets_wait_and_those_of_high_priority_are_first(emitted: Emitted) -> None:
    gate = Gate(SchedulerConfig(), overdue_s=lambda: 9.0)
    scheduler, order = Scheduler(gate, emitted.emit, lambda: 1), list[str]()

    class Noting(Target):
        async def collect(self, now_ns: int) -> CollectorOutput:
            order.append(self.name)
            return await super().collect(now_ns)

    for priority in reversed(Priority):
        target = Noting(priority.value)
        target.priority = priority
        scheduler.add(target)
    await until(lambda: scheduler.waiting == 3 and scheduler.skipped[SkipReason.CPU] >= 3)
    assert order == []
    gate.overdue_s = lambda: 0.0
    await until(lambda: len(order) >= 3)
    assert order[:3] == ["high", "normal", "low"]
    await scheduler.stop()


@pytest.mark.parametrize(
    ("error", "reason"), [(OutOfDescriptors, SkipReason.DESCRIPTORS), (DeviceBusy, SkipReason.DEVICE)]
)
async def test_a_target_for_which_there_is_no_descriptor_or_turn_is_neither_down_nor_reported(
    scheduler: Scheduler, emitted: Emitted, error: type[Exception], reason: SkipReason
) -> None:
    target = Target("a")
    scheduler.add(target)
    await until(lambda: scheduler.targets_up == 1)

    async def collect(now_ns: int) -> CollectorOutput:
        raise error

    target.collect = collect  # type: ignore[method-assign]
    before = len(emitted)
    await until(lambda: scheduler.skipped[reason] >= 2)
    assert scheduler.targets_up == 1
    assert len(emitted) == before


async def test_a_target_that_is_removed_before_its_slot_does_not_start(scheduler: Scheduler) -> None:
    gone, stays = Target("gone"), Target("stays")
    scheduler.add(gone)
    scheduler.add(stays)
    scheduler.remove(["gone"])
    await until(lambda: stays.started >= 2)
    assert gone.started == 0
    assert gone.stopped
