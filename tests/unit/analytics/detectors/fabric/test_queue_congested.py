"""The height at which a queue is congested is that of its switch's ASIC, where the topology says which that is."""

import pytest

from analytics.detectors.fabric.queue_congested import QueueCongested
from analytics.engine import Engine
from analytics.state.memory import Memory
from analytics.view.tick_view import TickView
from telemetry import objects
from telemetry.asics import asics
from telemetry.findings import Finding, FindingKind, FindingState
from telemetry.topology import Device, Entity, Role, TopologyFact
from tests.unit.analytics.detectors.ticks import at_each_tick, collected
from tests.unit.analytics.small_cluster import CONFIG, START_NS, batch, clockwork, port_key, run, table

SETTING = 8e6
PAUSES_AT = asics()["Spectrum-1"].pause_bytes  # 1.6 MB
QUEUE, OTHER = (port_key("fabric_queue_occupancy_bytes", port, queue="3") for port in ("Ethernet0", "Ethernet4"))


def scores(height: float, *entities: Entity) -> dict[str, float]:
    """Score by port of two queues of leaf1 that are so high three times in a row; only those that breach."""
    detector = QueueCongested(threshold_bytes=SETTING)
    memory = Memory(detector.memory)

    def judged(view: TickView) -> dict[str, float]:
        (verdicts,) = detector.judge(view, memory)
        rows = zip(verdicts.objects.tolist(), verdicts.breached, verdicts.score.tolist(), strict=True)
        return {view.index.object_ref(number).name: score for number, breached, score in rows if breached}

    return at_each_tick(judged, collected([QUEUE, OTHER], [[0.0, 0.0]] + [[height, 0.0]] * 3), entities)[-2]


def test_a_small_buffer_pauses_at_far_less_than_the_setting() -> None:
    height = 0.9 * PAUSES_AT
    found = scores(height, Device("leaf1", Role.LEAF, asic="Spectrum-1"))
    assert found == {"leaf1/Ethernet0": pytest.approx(height / (0.8 * PAUSES_AT))}
    assert scores(height) == {}
    assert scores(height, Device("leaf1", Role.LEAF)) == {}


def test_a_deep_buffer_pauses_at_far_more() -> None:
    deep = Device("leaf1", Role.LEAF, asic="Jericho2C+")
    assert scores(3 * SETTING, deep) == {}
    assert scores(asics()["Jericho2C+"].pause_bytes, deep) == {"leaf1/Ethernet0": pytest.approx(1 / 0.8)}


def test_the_asic_of_one_switch_says_nothing_of_another() -> None:
    assert scores(0.9 * PAUSES_AT, Device("leaf2", Role.LEAF, asic="Spectrum-1")) == {}


def test_an_asic_that_only_a_newer_version_knows_counts_as_unknown() -> None:
    unknown = Device("leaf1", Role.LEAF, asic="Spectrum-9")
    assert scores(SETTING, unknown) == {"leaf1/Ethernet0": pytest.approx(1 / 0.8)}
    assert scores(0.7 * SETTING, unknown) == {}


def test_an_asic_counts_from_when_it_is_known() -> None:
    engine, of = Engine(CONFIG), table("leaf1", [QUEUE])
    high = [batch(of, seq, [0.9 * PAUSES_AT if seq else 0.0]) for seq in range(8)]
    engine.add_facts([TopologyFact(Device("leaf1", Role.LEAF), START_NS - 1, "test")])
    before = run(engine, high[:4])
    assert not [one for one in before if isinstance(one, Finding)]
    known = Device("leaf1", Role.LEAF, asic="Spectrum-1")
    engine.add_facts([TopologyFact(known, high[4].collection.collected_ns, "test")])
    after = run(engine, [*high[4:], *clockwork(0, range(8, 10))])
    (found,) = (one for one in after if isinstance(one, Finding) and one.state is FindingState.ACTIVE)
    assert (found.kind, found.object) == (FindingKind.QUEUE_CONGESTED, objects.port("leaf1", "Ethernet0"))
