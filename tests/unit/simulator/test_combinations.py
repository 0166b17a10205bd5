"""Faults, shapes, kinds of work and collections together."""

import pytest

from common.errors import ConfigError
from common.units import NS_PER_S
from simulator.cluster import SimulatedCluster
from simulator.collection.presets import PRESETS
from simulator.compute.work.kind import WorkKind
from simulator.conditions.config import ConditionConfig
from simulator.config import JobMix, SimulatorConfig
from simulator.direct import campaign
from simulator.faults.schedule import parse_fault
from simulator.shapes.shape import Shape


def _config(
    shape: Shape = Shape.TWO_TIER, kind: WorkKind = WorkKind.DATA_PARALLEL, *conditions: str
) -> SimulatorConfig:
    return SimulatorConfig(
        hosts=8,
        gpus_per_host=4,
        step_ms=50,
        shape=shape,
        jobs=JobMix(jobs=2, kinds=(kind,)),
        conditions=tuple(ConditionConfig(name=name) for name in conditions),
    )


def _after(config: SimulatorConfig, seconds: int, *faults: str) -> SimulatedCluster:
    cluster = SimulatedCluster(config, 1_700_000_000 * NS_PER_S)
    for fault in faults:
        cluster.inject(parse_fault(fault))
    cluster.advance(cluster.start_ns + seconds * NS_PER_S)
    return cluster


@pytest.mark.parametrize("switch", ["agg1", "core1"])
def test_no_flow_crosses_a_switch_of_three_tiers_whose_routing_daemon_is_down(switch: str) -> None:
    cluster = _after(_config(Shape.THREE_TIER), 20, f"routing-daemon-down@10s:{switch}")
    layout, fabric = cluster.layout, cluster.machine.fabric
    ports = set(layout.switch_ports[switch])
    used = set(fabric.flows.path[fabric.flows.used].ravel().tolist())
    assert not used & ports
    assert cluster.readings.ports.up[list(ports)].all()
    assert {layout.ports[i].device for i in used if 0 <= i < fabric.ports} & set(layout.cores)


def test_a_deadlock_pauses_without_pause_frames_on_infiniband() -> None:
    for shape, has_frames in ((Shape.TWO_TIER, True), (Shape.INFINIBAND, False)):
        cluster = _after(_config(shape), 20, "pfc-deadlock@10s")
        queues = cluster.machine.fabric.queues
        held = queues.held > 0.0
        assert held.sum() == 4
        assert queues.pause_s[held].min() > 9.0
        assert (queues.pause_frames[held].min() > 0.0) == has_frames


@pytest.mark.parametrize("fault", ["routing-daemon-down", "lossless-misconfigured"])
def test_what_infiniband_does_not_have_cannot_break(fault: str) -> None:
    with pytest.raises(ConfigError, match=f"{fault}: no target '', this cluster has no "):
        _after(_config(Shape.INFINIBAND), 10, f"{fault}@5s")


def test_links_break_at_hosts_where_there_are_no_spines() -> None:
    cluster = _after(_config(Shape.RAIL_ONLY), 20, "link-down@5s")
    assert str(cluster.truth[0].root).count("node") == 1
    assert (~cluster.readings.nics.up).sum() == 1


def test_exchanged_cables_are_known_with_every_collection() -> None:
    faults = [parse_fault("cable-swap@5s+60s")]
    ticks = campaign(_config(), faults, 60.0, collection=PRESETS["no-inventory"])
    reported = [fact for tick in ticks for fact in tick.facts if fact.source.startswith("lldp/")]
    assert [fact.gone for fact in reported] == [True, True, False, False]


@pytest.mark.parametrize("kind", [WorkKind.MIXTURE_OF_EXPERTS, WorkKind.PIPELINE, WorkKind.TREE])
def test_gpus_of_one_nic_share_it(kind: WorkKind) -> None:
    wide, narrow = (_after(_config(shape, kind), 60) for shape in (Shape.TWO_TIER, Shape.SINGLE_RAIL))
    done = [sum(job.iterations for job in cluster.jobs) for cluster in (wide, narrow)]
    assert 0 < done[1] < done[0]


@pytest.mark.parametrize(
    "kind", [WorkKind.OVERLAPPED, WorkKind.MIXTURE_OF_EXPERTS, WorkKind.TENSOR_PARALLEL, WorkKind.PIPELINE]
)
def test_lost_nvlink_slows_every_training(kind: WorkKind) -> None:
    done = [
        sum(job.iterations for job in _after(_config(Shape.TWO_TIER, kind), 60, *faults).jobs)
        for faults in ((), ("nvlink-down@5s:node1/0", "nvlink-down@5s:node2/0"))
    ]
    assert done[1] < 0.9 * done[0]


def test_applications_fail_where_there_are_gpus_only() -> None:
    config = _config(Shape.TWO_TIER, WorkKind.PREPROCESSING, "application-xids")
    strong = config.model_copy(update={"conditions": (ConditionConfig(name="application-xids", strength=10.0),)})
    cluster = _after(strong, 300)
    assert len(cluster.jobs) == 2
    assert not cluster.readings.gpus.xid_last.any()
