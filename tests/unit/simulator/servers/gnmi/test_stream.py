"""When a stream sends: samples keep their interval, changes come with the next snapshot, heartbeats repeat."""

from collections.abc import Iterable

from common.units import NS_PER_S
from simulator.servers.gnmi.stream import FASTEST_NS, StreamPlan
from simulator.servers.snapshot import Snapshot
from telemetry.gnmi import gnmi_pb2
from tests.unit.simulator.servers.readings import filled_readings, small_layout

READINGS = filled_readings(small_layout())


class Scripted:
    """A query whose messages name the call that was made."""

    def __init__(self, name: str, *, counts: bool = True, changed: bool = True) -> None:
        self.name, self.counts, self.changed = name, counts, changed

    def full(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        return [f"{self.name} full".encode()]

    def changes(self, snapshot: Snapshot, now_ns: int) -> Iterable[bytes]:
        return [f"{self.name} changes".encode()] if self.changed else []


def sent(plan: StreamPlan, number: int, seconds: float) -> list[str]:
    return [one.decode() for one in plan.due(Snapshot(number, READINGS), 0, int(seconds * NS_PER_S))]


def test_samples_keep_their_interval_and_a_late_one_shifts_none() -> None:
    plan = StreamPlan()
    plan.add(Scripted("a"), gnmi_pb2.Subscription(mode=gnmi_pb2.SAMPLE, sample_interval=2 * NS_PER_S), 0)
    plan.add(Scripted("b"), gnmi_pb2.Subscription(mode=gnmi_pb2.SAMPLE, sample_interval=5 * NS_PER_S), 0)
    assert plan.next_due_ns() == 2 * NS_PER_S
    assert sent(plan, 1, 1.9) == []
    assert sent(plan, 1, 2.7) == ["a full"]
    assert plan.next_due_ns() == 4 * NS_PER_S
    assert sent(plan, 1, 11.0) == ["a full", "b full"]
    assert plan.next_due_ns() == 12 * NS_PER_S


def test_on_change_is_sent_with_the_snapshot_in_which_it_changed() -> None:
    plan = StreamPlan()
    plan.add(Scripted("w"), gnmi_pb2.Subscription(mode=gnmi_pb2.ON_CHANGE), 0)
    assert list(plan.initial(Snapshot(1, READINGS), 0)) == [b"w full"]
    assert plan.has_on_change
    assert plan.next_due_ns() is None
    assert sent(plan, 1, 1) == []
    assert sent(plan, 2, 2) == ["w changes"]
    assert sent(plan, 2, 3) == []


def test_a_heartbeat_repeats_what_did_not_change() -> None:
    plan = StreamPlan()
    beat = gnmi_pb2.Subscription(mode=gnmi_pb2.ON_CHANGE, heartbeat_interval=10 * NS_PER_S)
    plan.add(Scripted("w", changed=False), beat, 0)
    assert sent(plan, 2, 9) == []
    assert sent(plan, 3, 10) == ["w full"]
    assert sent(plan, 4, 19) == []


def test_target_defined_samples_counters_and_sends_states_on_change() -> None:
    plan = StreamPlan()
    plan.add(Scripted("counter"), gnmi_pb2.Subscription(mode=gnmi_pb2.TARGET_DEFINED), 0)
    plan.add(Scripted("state", counts=False), gnmi_pb2.Subscription(mode=gnmi_pb2.TARGET_DEFINED), 0)
    assert sent(plan, 2, 0.5) == ["state changes"]
    assert sent(plan, 2, 1.0) == ["counter full"]


def test_suppress_redundant_leaves_out_what_did_not_change() -> None:
    plan = StreamPlan()
    wanted = gnmi_pb2.Subscription(mode=gnmi_pb2.SAMPLE, sample_interval=NS_PER_S, suppress_redundant=True)
    plan.add(Scripted("s"), wanted, 0)
    assert sent(plan, 2, 1) == ["s changes"]


def test_no_sample_interval_is_shorter_than_the_limit() -> None:
    plan = StreamPlan()
    plan.add(Scripted("a"), gnmi_pb2.Subscription(mode=gnmi_pb2.SAMPLE, sample_interval=1), 0)
    assert plan.next_due_ns() == FASTEST_NS
