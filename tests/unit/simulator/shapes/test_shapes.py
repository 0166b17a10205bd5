"""Shapes of clusters: which switches there are, what they can carry, and what is refused."""

import pytest
from pydantic import ValidationError

from simulator.config import SimulatorConfig
from simulator.layout import Layout
from simulator.shapes.shape import Shape
from simulator.wiring import build_layout
from telemetry.topology import Role


def layout_of(**settings: object) -> Layout:
    return build_layout(SimulatorConfig.model_validate(settings))


def speeds(layout: Layout, switch: str) -> tuple[float, float]:
    """Capacity of a switch to NICs and switches below it, and to switches above it, in bits per second."""
    tier = {d.name: 0 if d.role is Role.LEAF else 1 if d.pod else 2 for d in layout.devices}
    ports = [layout.ports[i] for i in layout.switch_ports[switch]]
    up = sum(p.bits_per_second for p in ports if p.nic < 0 and tier[p.peer_device] > tier[switch])
    return sum(p.bits_per_second for p in ports) - up, up


@pytest.mark.parametrize("shape", Shape)
def test_both_ends_of_every_cable_name_each_other_in_every_shape(shape: Shape) -> None:
    layout = layout_of(hosts=12, shape=shape)
    for i, port in enumerate(layout.ports):
        if port.nic >= 0:
            assert layout.nics[port.nic].port == i
        else:
            peer = layout.ports[port.peer_port]
            assert (peer.peer_port, peer.device, peer.bits_per_second) == (i, port.peer_device, port.bits_per_second)
    assert len(layout.links) == sum(1 if p.nic >= 0 else 0.5 for p in layout.ports)


@pytest.mark.parametrize("hosts", [8, 64, 1040])
def test_three_tiers_carry_as_much_between_pods_as_within(hosts: int) -> None:
    layout = layout_of(hosts=hosts, shape="three-tier")
    assert layout.tiers == 3
    down, up = speeds(layout, "leaf1")
    assert down == up
    down, up = speeds(layout, "agg1")
    assert down == up
    assert all(device.pod for device in layout.devices if device.name.startswith("agg"))


def test_an_aggregation_switch_reaches_its_pods_leaves_and_its_group_of_cores() -> None:
    layout = layout_of(hosts=64, shape="three-tier")
    peers = [layout.ports[i].peer_device for i in layout.switch_ports["agg18"]]  # the second of the second pod
    assert peers == [*(f"leaf{k}" for k in range(9, 17)), *(f"core{k}" for k in range(9, 17))]


@pytest.mark.parametrize("ratio", [1.5, 2.0, 8.0])
def test_oversubscribed_uplinks_carry_that_part_of_the_hosts(ratio: float) -> None:
    down, up = speeds(layout_of(hosts=64, oversubscription=ratio), "leaf1")
    assert down / up == pytest.approx(ratio)


def test_oversubscription_of_three_tiers_is_at_the_cores() -> None:
    """As in Meta's clusters of 24,000 GPUs: full bisection within a pod, 1:7 between pods."""
    layout = layout_of(hosts=64, shape="three-tier", oversubscription=7)
    down, up = speeds(layout, "leaf1")
    assert down == up
    down, up = speeds(layout, "agg1")
    assert down / up == pytest.approx(7.0)


def test_rail_only_has_one_switch_a_rail_and_none_above() -> None:
    layout = layout_of(hosts=20, shape="rail-only")
    assert (len(layout.leaves), layout.spines, layout.tiers) == (8, (), 1)
    for rail, leaf in enumerate(layout.leaves):
        nics = [layout.nics[layout.ports[i].nic] for i in layout.switch_ports[leaf]]
        assert {nic.rail for nic in nics} == {rail}
        assert {nic.device for nic in nics} >= set(layout.hosts)


def test_single_rail_gives_all_gpus_of_a_host_one_nic() -> None:
    layout = layout_of(hosts=8, shape="single-rail")
    assert len(layout.nics) == 8 + 2 * 2
    assert all(layout.nics[gpu.nic].device == gpu.device for gpu in layout.gpus)
    assert len(layout.gpus) == 64


def test_4096_hosts_have_switches_that_exist() -> None:
    layout = layout_of(hosts=4096, gpus_per_host=1)
    assert (len(layout.leaves), len(layout.spines)) == (64 + 2, 64)
    assert max(map(len, layout.switch_ports.values())) == 512 + 64  # a leaf of the storage
    assert len({endpoint.address for endpoint in layout.endpoints}) == len(layout.endpoints)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shape": "ring"}, "shape"),
        ({"shape": "rail-only", "spines": 4}, "spines: expected 0: a rail-only cluster"),
        ({"shape": "rail-only", "oversubscription": 2}, "oversubscription: expected 1: a rail-only cluster"),
        ({"shape": "rail-only", "hosts": 2048}, "hosts: expected fewer: the switch of a rail would need 2304 ports"),
        ({"oversubscription": 0.5}, "oversubscription"),
        ({"oversubscription": 2, "uplink_gbps": 400}, "oversubscription: expected 1 where uplink_gbps is given"),
        ({"hosts": 4096, "hosts_per_pod": 4}, "hosts: expected fewer: a spine would need 8194 ports"),
        ({"hosts": 4096, "hosts_per_pod": 2048}, "hosts_per_pod: expected fewer: a leaf would need 2112 ports"),
        ({"shape": "single-rail", "rails_per_leaf": 2}, "rails_per_leaf 2: must divide"),
    ],
)
def test_impossible_shapes_are_refused_with_the_key(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SimulatorConfig.model_validate(settings)
