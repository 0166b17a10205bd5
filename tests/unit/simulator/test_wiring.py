"""The layout: what is plugged where, and that every description of it agrees."""

import pytest
from pydantic import ValidationError

from simulator.config import SimulatorConfig
from simulator.fabric.parameters import BUFFER_BYTES, XOFF_ALPHA
from simulator.layout import Exporter, topology_facts
from simulator.wiring import build_layout
from telemetry.asics import asics
from telemetry.topology import Device, Gpu, Link, Mount, Role, StorageTarget, Topology


@pytest.mark.parametrize("hosts", [2, 8, 20, 64])
def test_both_ends_of_every_cable_name_each_other(hosts: int) -> None:
    layout = build_layout(SimulatorConfig(hosts=hosts))
    for i, port in enumerate(layout.ports):
        if port.nic >= 0:
            nic = layout.nics[port.nic]
            assert (nic.port, nic.device, nic.name) == (i, port.peer_device, port.peer_name)
        else:
            peer = layout.ports[port.peer_port]
            assert (peer.peer_port, peer.device, peer.name) == (i, port.peer_device, port.peer_name)


def test_a_leaf_serves_the_same_rails_of_its_pods_hosts() -> None:
    layout = build_layout(SimulatorConfig(hosts=64))
    devices = {d.name: d for d in layout.devices}
    for nic in layout.nics:
        leaf = devices[layout.ports[nic.port].device]
        assert devices[nic.device].pod == leaf.pod
        if devices[nic.device].role is Role.HOST:
            assert str(nic.rail) in leaf.rail.split("+")


def test_facts_describe_the_whole_cluster() -> None:
    layout = build_layout(SimulatorConfig(hosts=8))
    topology = Topology().with_facts(topology_facts(layout, 5))
    assert len(topology.entities(Device)) == len(layout.devices)
    assert len(topology.entities(Link)) == len(layout.links) == sum(1 for p in layout.ports if p.nic >= 0) + 10 * 4
    assert len(topology.entities(Gpu)) == 64
    assert len(topology.entities(StorageTarget)) == len(layout.targets)
    assert len(topology.entities(Mount)) == 8
    assert all(gpu.nic_port == f"mlx5_{gpu.index}" for gpu in topology.entities(Gpu))


def test_switches_say_which_asic_they_are_modelled_on() -> None:
    layout = build_layout(SimulatorConfig(hosts=8))
    assert {d.asic for d in layout.devices if d.name in layout.flavours} == {"Spectrum-3"}
    assert {d.asic for d in layout.devices if d.name not in layout.flavours} == {""}
    # A queue alone pauses within a tenth of where the model does.
    alone = BUFFER_BYTES * XOFF_ALPHA / (1 + XOFF_ALPHA)
    assert asics()["Spectrum-3"].pause_bytes == pytest.approx(alone, rel=0.1)
    infiniband = build_layout(SimulatorConfig(hosts=8, shape="infiniband"))
    assert {device.asic for device in infiniband.devices} == {""}


def test_addresses_and_names_are_unique() -> None:
    layout = build_layout(SimulatorConfig(hosts=300, spines=8))
    assert len({e.address for e in layout.endpoints}) == len(layout.endpoints)
    assert len({g.uuid for g in layout.gpus}) == len(layout.gpus)
    assert len({(p.device, p.name) for p in layout.ports}) == len(layout.ports)
    assert layout.endpoints[layout.endpoint_index[Exporter.DCGM, "node3"]].address == "127.1.0.3:9400"


def test_seed_changes_uuids_only() -> None:
    one, other = build_layout(SimulatorConfig(seed=1)), build_layout(SimulatorConfig(seed=2))
    assert one.ports == other.ports
    assert one.gpus[0].uuid != other.gpus[0].uuid
    assert one == build_layout(SimulatorConfig(seed=1))


def test_rails_must_divide_evenly() -> None:
    with pytest.raises(ValidationError, match="rails_per_leaf 3"):
        SimulatorConfig(rails_per_leaf=3)


@pytest.mark.parametrize(
    ("options", "leaves", "spines", "servers", "pods"),
    [
        # One leaf for two rails of a pod, and two of the storage; half of the hosts are a pod.
        ({"hosts": 2}, 2 * 4 + 2, 4, 2, 2),
        ({"hosts": 8}, 2 * 4 + 2, 4, 2, 2),
        ({"hosts": 8, "gpus_per_host": 1}, 2 * 1 + 2, 4, 2, 2),
        ({"hosts": 8, "hosts_per_pod": 8, "rails_per_leaf": 8}, 1 + 2, 4, 2, 1),
        # Beyond 16 hosts a leaf serves one rail.
        ({"hosts": 20}, 2 * 8 + 2, 10, 2, 2),
        ({"hosts": 64}, 4 * 8 + 2, 32, 8, 4),
        ({"hosts": 64, "spines": 3, "storage_servers": 5}, 4 * 8 + 2, 3, 5, 4),
    ],
)
def test_numbers_that_are_left_out_follow_from_the_hosts(
    options: dict[str, int], leaves: int, spines: int, servers: int, pods: int
) -> None:
    config = SimulatorConfig.model_validate(options)
    layout = build_layout(config)
    assert (len(layout.leaves), len(layout.spines), len(layout.servers)) == (leaves, spines, servers)
    assert len({d.pod for d in layout.devices if d.role is Role.HOST}) == pods
    assert len(layout.gpus) == config.hosts * config.gpus_per_host
    assert len(layout.nics) == len(layout.gpus) + 2 * servers
    assert len(layout.ports) == len(layout.nics) + 2 * leaves * spines


def test_positions_are_side_by_side_and_in_order() -> None:
    layout = build_layout(SimulatorConfig(hosts=4, gpus_per_host=2))
    for ranges, units in (
        (layout.switch_ports, layout.ports),
        (layout.device_nics, layout.nics),
        (layout.host_gpus, layout.gpus),
    ):
        assert [i for positions in ranges.values() for i in positions] == list(range(len(units)))
        assert all(units[i].device == device for device, positions in ranges.items() for i in positions)
    assert layout.switches == (*layout.leaves, *layout.spines)


def test_every_leaf_has_one_cable_to_every_spine() -> None:
    layout = build_layout(SimulatorConfig(hosts=4, spines=3))
    uplinks = [(p.device, p.peer_device) for p in layout.ports if p.nic < 0 and p.device in layout.leaves]
    assert sorted(uplinks) == sorted((leaf, spine) for leaf in layout.leaves for spine in layout.spines)
    assert {p.bits_per_second for p in layout.ports if p.nic < 0} == {800e9}
    assert {p.bits_per_second for p in layout.ports if p.nic >= 0} == {400e9}


def test_a_gpu_sends_through_the_nic_of_its_index() -> None:
    layout = build_layout(SimulatorConfig(hosts=4))
    for gpu in layout.gpus:
        nic = layout.nics[gpu.nic]
        assert (nic.device, nic.rail, nic.name) == (gpu.device, gpu.index, f"mlx5_{gpu.index}")
