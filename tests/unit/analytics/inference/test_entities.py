"""Roles, GPUs, targets and mounts of devices that nobody has recorded."""

import numpy as np

from analytics.engine import Engine
from analytics.inference.entities import Inference, infer
from analytics.state.registry import Registry
from simulator.config import SimulatorConfig
from simulator.direct import campaign
from simulator.layout import topology_facts
from telemetry.series import SeriesTable, series_key
from telemetry.topology import UNKNOWN_INDEX, Device, Gpu, Job, Mount, Role, StorageTarget, Topology, TopologyFact
from tests.unit.analytics.small_cluster import CONFIG

LEAF = {"device": "sw1", "port": "Ethernet0"}
CLIENT = {"device": "n1", "fs": "home", "side": "client", "system": "nfs", "target": ""}
DISK = {"device": "n2", "fs": "", "side": "server", "system": "block", "target": "nvme0n1"}


def registry(*tables: tuple[str, list[str]]) -> Registry:
    found = Registry(10_000)
    for device, keys in tables:
        found.rows(SeriesTable(f"x/{device}", device, tuple(keys)))
    return found


def test_roles_and_parts_of_a_whole_cluster_are_as_it_is_built() -> None:
    config = SimulatorConfig(hosts=4, interval_s=5.0)
    engine = Engine(CONFIG)
    for tick in campaign(config, [], 30.0):
        for batch in tick.batches:
            engine.observe(batch)
        engine.advance()
    layout = tick.cluster.layout
    true = [fact.entity for fact in topology_facts(layout, 0)]
    roles = {device.name: device.role for device in engine.topology.entities(Device)}
    assert roles == {each.name: each.role for each in true if isinstance(each, Device)}
    targets = engine.topology.entities(StorageTarget)
    assert {*targets} == {each for each in true if isinstance(each, StorageTarget)}
    gpus = {(gpu.device, gpu.uuid) for gpu in engine.topology.entities(Gpu)}
    assert gpus == {(each.device, each.uuid) for each in true if isinstance(each, Gpu)}
    assert engine.inferred == {"device": len(roles), "gpu": 32, "storage_target": len(targets)}


def test_a_device_with_a_fact_is_what_the_fact_says_alone() -> None:
    index = registry(("n1", [series_key("gpu_power_watts", {"device": "n1", "gpu": "g"})]))
    facts = Topology().with_facts([TopologyFact(Device("n1", Role.STORAGE), 1, "inventory")])
    assert Inference().topology(index, facts) is facts


def test_gpus_of_a_recorded_host_are_inferred_while_none_of_them_is_recorded() -> None:
    """An inventory says in which rack a host is, and not which GPUs it has."""
    index = registry(
        ("n1", [series_key("gpu_power_watts", {"device": "n1", "gpu": gpu}) for gpu in "ab"]),
        ("n2", [series_key("gpu_power_watts", {"device": "n2", "gpu": gpu}) for gpu in "ab"]),
        ("n3", [series_key("node_load_1m", {"device": "n3"})]),
    )
    recorded = [Device(name, Role.HOST, rack="r1") for name in ("n1", "n2", "n3", "n4")]
    entities: list[Device | Gpu] = [*recorded, Gpu("n2", "a", 0)]
    facts = [TopologyFact(entity, 1, "inventory") for entity in entities]
    inferred = [Gpu("n1", "a", UNKNOWN_INDEX), Gpu("n1", "b", UNKNOWN_INDEX)]
    assert list(infer(index, Topology().with_facts(facts))) == inferred
    part = TopologyFact(Job("7", ("n1",), gpu_indices=(0,)), 1, "slurm")
    assert list(infer(index, Topology().with_facts([*facts, part]))) == []


def test_disks_of_a_host_make_no_storage_server_and_mounts_are_those_of_clients() -> None:
    index = registry(
        ("n1", [series_key("storage_read_bytes_total", CLIENT), series_key("node_load_1m", {"device": "n1"})]),
        ("n2", [series_key("storage_read_bytes_total", DISK), series_key("node_load_1m", {"device": "n2"})]),
    )
    assert list(infer(index, Topology())) == [Device("n1", Role.HOST), Device("n2", Role.HOST), Mount("n1", "home")]


def test_a_switch_all_of_whose_ports_have_sessions_is_a_spine() -> None:
    port = series_key("fabric_port_up", LEAF)
    session = series_key("fabric_bgp_session_up", {"device": "sw1", "peer": "10.0.0.1"})
    load = series_key("node_load_1m", {"device": "sw1"})
    assert list(infer(registry(("sw1", [port, load])), Topology())) == [Device("sw1", Role.LEAF)]
    assert list(infer(registry(("sw1", [port, session])), Topology())) == [Device("sw1", Role.SPINE)]


def test_a_host_that_speaks_for_the_ports_of_a_fabric_is_no_switch() -> None:
    ports = [series_key("ib_port_state", {"device": "0x7c", "port": str(port)}) for port in range(40)]
    assert list(infer(registry(("mgmt1", ports)), Topology())) == []
    own = [series_key("ib_port_state", {"device": "sw1", "port": str(port)}) for port in range(40)]
    assert list(infer(registry(("sw1", own)), Topology())) == [Device("sw1", Role.LEAF)]


def test_nothing_is_said_of_a_device_that_sends_nothing_of_its_role() -> None:
    assert list(infer(registry(("x1", [series_key("up", {"device": "x1"})])), Topology())) == []


def test_gpus_get_no_numbers_while_a_job_uses_some_of_them() -> None:
    index = registry(("n1", [series_key("gpu_power_watts", {"device": "n1", "gpu": "g"})]))
    part = Topology().with_facts([TopologyFact(Job("7", ("n1",), gpu_indices=(0,)), 1, "slurm")])
    assert list(infer(index, part)) == [Device("n1", Role.HOST)]
    assert list(infer(index, Topology())) == [Device("n1", Role.HOST), Gpu("n1", "g", UNKNOWN_INDEX)]


def test_gpus_have_the_numbers_that_their_source_states() -> None:
    info = {"device": "n1", "pci_bus_id": "0", "model": "H100", "driver": "580"}
    keys = [series_key("gpu_info", info | {"gpu": gpu, "index": number}) for gpu, number in (("a", "7"), ("b", "2"))]
    part = Topology().with_facts([TopologyFact(Job("7", ("n1",), gpu_indices=(2,)), 1, "slurm")])
    for facts in (Topology(), part):
        assert list(infer(registry(("n1", keys)), facts)) == [
            Device("n1", Role.HOST),
            Gpu("n1", "a", 7),
            Gpu("n1", "b", 2),
        ]


def test_gpus_have_the_serials_that_their_source_states() -> None:
    keys = [
        series_key("gpu_info", {"device": "n1", "gpu": "a", "index": "7", "serial": "1650321004242"}),
        series_key("gpu_info", {"device": "n1", "gpu": "b", "serial": "1650321004243"}),
    ]
    found = list(infer(registry(("n1", keys)), Topology()))
    assert found[1:] == [
        Gpu("n1", "a", 7, serial="1650321004242"),
        Gpu("n1", "b", UNKNOWN_INDEX, serial="1650321004243"),
    ]
    labels = [one.label for one in found[1:] if isinstance(one, Gpu)]
    assert labels == [
        "n1 GPU 7 (serial 1650321004242)",
        "n1 GPU (serial 1650321004243)",
    ]


def test_the_same_topology_is_returned_until_something_new_is_known() -> None:
    index, facts, inference = registry(("n1", [series_key("node_load_1m", {"device": "n1"})])), Topology(), Inference()
    first = inference.topology(index, facts)
    assert inference.topology(index, facts) is first
    index.rows(SeriesTable("y/n1", "n1", (series_key("node_time_seconds", {"device": "n1"}),)))
    assert inference.topology(index, facts) is first
    index.rows(SeriesTable("x/n2", "n2", (series_key("node_load_1m", {"device": "n2"}),)))
    assert [device.name for device in inference.topology(index, facts).entities(Device)] == ["n1", "n2"]
    assert index.rows(SeriesTable("y/n1", "n1", (series_key("node_time_seconds", {"device": "n1"}),))).dtype == np.int64
