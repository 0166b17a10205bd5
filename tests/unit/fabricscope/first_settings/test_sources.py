"""What lldpd, Slurm and a Prometheus know of a cluster, from their own output."""

import json

import pytest

from common.errors import BadInput, ConfigError
from fabricscope.first_settings.cluster import Cluster, Neighbour
from fabricscope.first_settings.lldp import parse_neighbours
from fabricscope.first_settings.slurm import parse_node_names
from fabricscope.first_settings.targets import devices_of, source_of
from ingest.collectors.exposition.discovery import TargetGroup
from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Role
from tests.samples import SAMPLES

NODE1, LEAF1 = (SAMPLES / "lldp" / f"{name}.json" for name in ("node1", "leaf1"))


def test_lldp_of_a_host_names_its_switches_and_their_ports() -> None:
    found, left_out = parse_neighbours(NODE1.read_bytes(), "node1", "node1.json")
    assert found == [
        Neighbour("node1", "rdma0", "leaf1", "Ethernet0", forwards=True, address="10.0.2.1"),
        Neighbour("node1", "rdma1", "leaf2", "Ethernet4", forwards=True, address="10.0.2.2"),
    ]
    assert left_out == 0


def test_lldp_with_one_neighbour_has_no_list() -> None:
    """And a host has only a link-local address, which reaches nothing from elsewhere."""
    found, _ = parse_neighbours(LEAF1.read_bytes(), "leaf1", "leaf1.json")
    assert found == [Neighbour("leaf1", "Ethernet0", "node1", "rdma0", forwards=False, address="")]


def test_without_neighbours_lldpcli_writes_an_empty_object() -> None:
    assert parse_neighbours(b'{"lldp": {}}', "node1", "x") == ([], 0)


@pytest.mark.parametrize("name", ["leaf[1-2]", "a/b", "", "leaf 1", "x" * (NAME_CHARS_MAX + 1)])
def test_a_neighbour_that_an_inventory_cannot_hold_is_left_out(name: str) -> None:
    document = json.loads(NODE1.read_bytes())
    interface = document["lldp"]["interface"][0]["rdma0"]
    interface["chassis"] = {name: interface["chassis"]["leaf1"]}
    found, left_out = parse_neighbours(json.dumps(document).encode(), "node1", "x")
    assert ([one.other for one in found], left_out) == (["leaf2"], 1)


def test_a_chassis_without_a_name_is_left_out() -> None:
    """lldpd then has its fields where the name would be."""
    document = json.loads(NODE1.read_bytes())
    interface = document["lldp"]["interface"][0]["rdma0"]
    interface["chassis"] = {"id": {"type": "mac", "value": "82:39:aa:79:a3:db"}}
    found, left_out = parse_neighbours(json.dumps(document).encode(), "node1", "x")
    assert ([one.other for one in found], left_out) == (["leaf2"], 1)


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"lldp": []}', b"rdma0, leaf1"])
def test_what_is_no_output_of_lldpcli_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match=r"n1\.json: expected the output of `lldpcli -f json show neighbors`"):
        parse_neighbours(body, "node1", "n1.json")


def test_both_ends_of_a_cable_are_one_link() -> None:
    cluster = Cluster()
    for device, file in (("node1", NODE1), ("leaf1", LEAF1)):
        cluster.add_neighbours(parse_neighbours(file.read_bytes(), device, "x")[0])
    assert cluster.links == {("leaf1/Ethernet0", "node1/rdma0"), ("leaf2/Ethernet4", "node1/rdma1")}
    assert cluster.roles() == {"leaf1": Role.LEAF, "leaf2": Role.LEAF, "node1": Role.HOST}
    assert cluster.addresses == {"leaf1": "10.0.2.1", "leaf2": "10.0.2.2"}


def test_a_switch_without_hosts_is_a_spine() -> None:
    cluster = Cluster()
    cluster.add_neighbours(
        [
            Neighbour("leaf1", "Ethernet0", "node1", "rdma0", forwards=False, address=""),
            Neighbour("leaf1", "Ethernet64", "spine1", "Ethernet1/1", forwards=True, address=""),
        ]
    )
    assert cluster.roles() == {"leaf1": Role.LEAF, "spine1": Role.SPINE, "node1": Role.HOST}


def test_an_address_that_several_say_is_theirs_is_left_out() -> None:
    cluster = Cluster()
    said = (("leaf1", "10.0.2.1"), ("leaf2", "10.0.2.2"), ("leaf3", "10.0.2.1"))
    cluster.add_neighbours(Neighbour("node1", f"e{to}", to, "E0", forwards=True, address=at) for to, at in said)
    assert cluster.leave_out_shared_addresses() == ["10.0.2.1: left out, as it is the address of leaf1, leaf3"]
    assert cluster.addresses == {"leaf2": "10.0.2.2"}
    assert cluster.leave_out_shared_addresses() == []


@pytest.mark.parametrize("said", ["leaf1.example", "10.0.0.1:22", "10.0.0.1/../x", "", "2001:db8::1%<b>", "=1+1"])
def test_what_is_no_address_of_a_management_is_left_out(said: str) -> None:
    document = json.loads(NODE1.read_bytes())
    document["lldp"]["interface"][0]["rdma0"]["chassis"]["leaf1"]["mgmt-ip"] = said
    found, _ = parse_neighbours(json.dumps(document).encode(), "node1", "x")
    assert [one.address for one in found] == ["", "10.0.2.2"]


@pytest.mark.parametrize(
    ("file", "names"),
    [
        ("slurmrestd_nodes.json", ["naboo145", "naboo146", "naboo147"]),
        ("sinfo_out.json", [f"cs{number}.example.company.com" for number in (2, 3, 4, 5)]),
    ],
)
def test_nodes_of_slurm(file: str, names: list[str]) -> None:
    assert parse_node_names((SAMPLES / "slurm" / file).read_bytes(), file) == names


def test_sinfo_since_23_02_has_groups() -> None:
    body = b'{"sinfo": [{"nodes": {"nodes": ["node1", "node2"]}}, {"nodes": {"nodes": ["node3", "node[4-5]"]}}]}'
    assert parse_node_names(body, "x") == ["node1", "node2", "node3"]


@pytest.mark.parametrize("body", [b"", b"{}", b'{"nodes": ["node1"]}', b"PARTITION AVAIL"])
def test_what_is_no_node_list_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match=r"nodes\.json: expected the output of `scontrol show nodes --json`"):
        parse_node_names(body, "nodes.json")


def test_the_source_of_targets_is_known_by_their_port() -> None:
    assert source_of([TargetGroup(targets=("10.0.1.1:9400", "10.0.1.2:9400"))], "x") == "dcgm"


@pytest.mark.parametrize("addresses", [("a:9400", "a:9100"), ("a:9401",), ()])
def test_targets_of_no_or_several_exporters_need_their_source(addresses: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match=r"gpu.yaml: ports .*, expected one of 9400 \(dcgm\), .*; else SOURCE=FILE"):
        source_of([TargetGroup(targets=addresses)], "gpu.yaml")


def test_devices_of_targets_are_named_by_their_label_or_host() -> None:
    groups = [
        TargetGroup(targets=("10.0.1.1:9400",), labels={"device": "node1"}),
        TargetGroup(targets=("node2:9400", "10.0.1.3:9400", "[::1]:9400")),
    ]
    assert devices_of(groups) == ["node1", "node2"]
