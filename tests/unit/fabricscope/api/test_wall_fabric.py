"""The fabric as a plan, what is unhealthy in it, and an incident explained."""

from dataclasses import replace

import numpy as np
import pytest

from fabricscope.api.history import History
from fabricscope.api.instants import rfc3339
from fabricscope.api.paging_links import Links
from fabricscope.api.read_model import ReadModel
from fabricscope.api.wall.direction import worse_side
from fabricscope.api.wall.drawing import drawing
from fabricscope.api.wall.explanation import explain
from fabricscope.api.wall.gpu_names import gpu_names
from fabricscope.api.wall.plan import GROUPS_MAX, Fabric, Scope
from telemetry.findings import Evidence, FindingKind
from telemetry.incidents import IncidentState, Severity
from telemetry.objects import ObjectKind, ObjectRef, device, gpu, port
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Role, StorageTarget, Topology, TopologyFact
from tests.unit.fabricscope.api.traffic import incident
from tests.unit.fabricscope.api.wall_cluster import NS, facts, finding

PAUSED = FindingKind.PFC_PAUSE_RECEIVED
EMPTY = Topology()


@pytest.fixture
def model() -> ReadModel:
    found = ReadModel(History(1, 1))
    found.topology = EMPTY.with_facts(facts())
    return found


def names(model: ReadModel, scope: Scope) -> list[tuple[str, int]]:
    return [(box.name, box.devices) for box in drawing(model, scope).boxes]


def test_the_whole_fabric_is_drawn_by_tier_and_pod(model):
    assert names(model, Scope()) == [("spine1", 1), ("pod1", 1), ("pod2", 1), ("pod1", 2), ("pod2", 2)]
    assert {(one.a, one.b): one.links for one in drawing(model, Scope()).bundles} == {
        ("spine", "leaf/pod=pod1"): 1,
        ("spine", "leaf/pod=pod2"): 1,
        ("leaf/pod=pod1", "host/pod=pod1"): 2,
        ("leaf/pod=pod2", "host/pod=pod2"): 2,
    }


def test_a_pod_and_a_rack_are_drawn_with_the_switches_that_they_hang_from(model):
    assert names(model, Scope(pod="pod1")) == [("spine1", 1), ("leaf1", 1), ("r1", 2)]
    assert names(model, Scope("pod1", "r1")) == [("spine1", 1), ("leaf1", 1), ("node1", 1), ("node2", 1)]
    assert names(model, Scope(pod="nowhere")) == []


def test_a_large_fabric_has_few_boxes_and_bundles():
    fabric = Fabric(EMPTY.with_facts(facts(pods=200)))
    for scope in (Scope(), Scope("pod1"), Scope("pod1", "r1")):
        plan = fabric.plan(scope)
        assert 0 < len(plan.groups) <= 3 * GROUPS_MAX
        assert len(plan.bundles) <= 3 * GROUPS_MAX**2
    assert sum(len(links) for links in fabric.plan(Scope()).bundles.values()) == len(fabric.links) == 600


def test_of_more_pods_than_fit_the_unhealthy_ones_are_drawn():
    fabric = Fabric(EMPTY.with_facts(facts(pods=40)))
    plan = fabric.plan(Scope(), ["node79", "spine1", "leaf39", "elsewhere"])
    hosts = [group.name for group in plan.groups if group.tier is Role.HOST]
    assert len(hosts) == GROUPS_MAX
    assert {"pod40", "pod39", "pod1"} <= set(hosts)
    assert hosts[-1] == "25 others"
    assert [group.name for group in plan.groups if group.tier is Role.LEAF] == hosts


def test_without_pods_the_hosts_are_drawn_by_rack():
    hosts = [TopologyFact(Device(f"n{n}", Role.HOST, rack=f"r{n % 3}"), 1, "x") for n in range(9)]
    groups = Fabric(EMPTY.with_facts(hosts)).plan(Scope()).groups
    assert [(group.name, len(group.devices)) for group in groups] == [("r0", 3), ("r1", 3), ("r2", 3)]


@pytest.mark.parametrize(
    "found",
    [
        # a host without a pod that is called like a pod
        [Device("pod1", Role.HOST), Device("n1", Role.HOST, "pod1"), Device("n2", Role.HOST, "pod1")],
        # a pod that is called like what more of them are drawn as
        [Device(f"n{n}", Role.HOST, f"pod{n}") for n in range(20)] + [Device("n99", Role.HOST, "others")],
        # pods that are called like the tier and like a place of it
        [Device("n1", Role.HOST, "hosts"), Device("n2", Role.HOST), Device("n3", Role.HOST, "pod=hosts")],
        [
            Device("n1", Role.HOST, "a/rack=b", "c"),
            Device("n2", Role.HOST, "a", "b/c"),
            Device("n3", Role.HOST, "a", "b"),
        ],
    ],
)
def test_boxes_have_ids_of_their_own_whatever_places_are_called(found):
    fabric = Fabric(EMPTY.with_facts(TopologyFact(one, 1, "x") for one in found))
    for scope in {Scope(), *(Scope(one.pod) for one in found), *(Scope(one.pod, one.rack) for one in found)}:
        plan = fabric.plan(scope)
        assert len({group.id for group in plan.groups}) == len(plan.groups)
        assert set(plan.group_of.values()) == {group.id for group in plan.groups}


def test_what_is_unhealthy_comes_worst_first_causes_before_what_follows(model):
    model.incidents = {
        "i1": replace(incident("i1"), findings=("f1", "f2")),
        "over": incident("over", IncidentState.RESOLVED),
    }
    model.findings = {
        "f1": finding("f1", port("leaf1", "Ethernet4"), 2.0, 5 * NS, PAUSED),
        "f2": finding("f2", port("leaf1", "Ethernet0"), 9.0, 5 * NS, PAUSED),
        "f3": finding("f3", device("node4"), 99.0, 5 * NS, FindingKind.TARGET_SILENT),
        "f4": finding("f4", gpu("node1", "GPU-1-1"), 1.0, 5 * NS, FindingKind.GPU_HOT),
        "f5": finding("f5", device("elsewhere"), 1.0, 5 * NS, FindingKind.TARGET_SILENT),
    }
    found = drawing(model, Scope())
    critical = Severity.CRITICAL
    assert [(one.name, one.is_root, one.severity, one.boxes, one.label) for one in found.unhealthy] == [
        ("leaf1/Ethernet4", True, critical, ["leaf/pod=pod1", "host/pod=pod1"], "leaf1/Ethernet4"),
        ("leaf1/Ethernet0", False, critical, ["spine", "leaf/pod=pod1"], "leaf1/Ethernet0"),
        ("node4", False, None, ["host/pod=pod2"], "node4"),
        ("node1/GPU-1-1", False, None, ["host/pod=pod1"], "node1 GPU 1 (GPU-1-1)"),
    ]
    assert found.unhealthy[0].text == "is paused by its peer (61 %, usually 1 %)"
    assert [(line.a, line.b, line.severity, line.is_root) for line in found.lines] == [
        ("leaf/pod=pod1", "host/pod=pod1", critical, True),
        ("spine", "leaf/pod=pod1", critical, False),
    ]
    boxes = {box.id: (box.unhealthy, box.severity, box.is_root) for box in found.boxes}
    assert boxes["leaf/pod=pod1"] == (2, critical, True)
    assert boxes["host/pod=pod2"] == (1, None, False)
    assert boxes["leaf/pod=pod2"] == (0, None, False)
    assert {one.b: one.unhealthy for one in found.bundles}["host/pod=pod1"] == 1
    assert drawing(model, Scope(pod="pod2")).unhealthy_objects == 1


def test_a_slow_storage_target_is_where_its_server_is(model):
    served: list[Entity] = [Device("oss1", Role.STORAGE), StorageTarget("scratch", "OST0001", "oss1")]
    model.topology = model.topology.with_facts(TopologyFact(one, 1, "x") for one in served)
    target = ObjectRef(ObjectKind.STORAGE_TARGET, "scratch/OST0001")
    model.incidents = {"i1": replace(incident("i1"), root=target, findings=("f1",))}
    model.findings = {"f1": finding("f1", target, 5.0, 5 * NS, FindingKind.STORAGE_SLOW)}
    found = drawing(model, Scope())
    assert [(one.name, one.is_root, one.boxes) for one in found.unhealthy] == [("scratch/OST0001", True, ["storage"])]
    assert {box.id: box.unhealthy for box in found.boxes}["storage"] == 1


def test_an_incident_is_explained_from_its_cause_to_its_effects(model):
    model.findings = {
        "f1": finding("f1", port("leaf1", "Ethernet4"), 2.0, 7 * NS, PAUSED),
        "f2": finding("f2", port("leaf1", "Ethernet0"), 9.0, 5 * NS, PAUSED),
        "f3": finding("f3", gpu("node1", "GPU-1-1"), 1.0, 6 * NS, FindingKind.GPU_HOT),
    }
    found = explain(model, replace(incident(), findings=("f1", "f2", "f3", "forgotten")), Links("silence"))
    assert found.cause == "a host pauses its leaf port (PCIe stall, injected storm)"
    assert [(effect.objects, effect.onset) for effect in found.effects] == [(2, rfc3339(5 * NS)), (1, rfc3339(6 * NS))]
    assert (found.findings, [one.object.name for one in found.suppressed]) == (
        *(4, ["leaf1/Ethernet0", "node1/GPU-1-1", "leaf1/Ethernet4"]),
    )
    assert found.gpus == {"node1/GPU-1-1": "node1 GPU 1 (GPU-1-1)"}
    assert found.links == Links("silence")
    assert found.worse == ["higher", ""]


@pytest.mark.parametrize(
    ("series", "value", "normal", "worse"),
    [
        ('fabric_port_pfc_pause_seconds_total{device="a"}', 0.6, None, "higher"),
        ('gpu_sm_clock_hertz{device="a"}', 1e9, 2e9, "lower"),
        ('gpu_power_watts{device="a"}', 100.0, 700.0, "lower"),  # it waits
        ('gpu_power_watts{device="a"}', 700.0, 100.0, "higher"),
        ('gpu_power_watts{device="a"}', 700.0, None, ""),
        ("mean(of many)", 0.2, 0.4, "lower"),
        ("mean(of many)", 0.4, 0.4, ""),
    ],
)
def test_on_which_side_a_value_is_bad(series, value, normal, worse):
    assert worse_side(Evidence(series, value, normal, "ratio")) == worse


def test_what_a_storage_target_is_asked_for_is_on_no_side_bad():
    series = 'storage_operation_duration_seconds_sum{device="oss1",fs="scratch",target="OST0001"}'
    assert worse_side(Evidence(series, 0.8, 0.02, "seconds an operation")) == "higher"
    assert worse_side(Evidence(series, 376.0, 338.0, "operations/s")) == ""


def test_gpus_of_no_inventory_are_called_what_their_telemetry_states(model):
    """As the texts of incidents do, in which analytics names them."""
    labels = {"device": "n9", "gpu": "GPU-9f3c0a1b2d", "index": "4"}
    keys = (
        series_key("gpu_info", {**labels, "serial": "1650321004242"}),
        series_key("gpu_info", {"device": "node1", "gpu": "GPU-1-1", "serial": "1"}),
    )
    table, rows = SeriesTable("dcgm/n9", "n9", keys), np.arange(2, dtype=np.uint32)
    model.gpu_info.add(SampleBatch(table, Collection(1, 0, NS, 0.01), np.full(2, NS), rows, np.ones(2)))
    names = gpu_names(model)
    assert names["n9/GPU-9f3c0a1b2d"] == "n9 GPU 4 (serial 1650321004242)"
    assert names["node1/GPU-1-1"] == "node1 GPU 1 (GPU-1-1)"  # an inventory has the last word
