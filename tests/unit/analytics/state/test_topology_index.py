import numpy as np

from analytics.state.registry import Registry
from analytics.state.topology_index import TopologyIndex, TopologyIndexer
from telemetry.series import SeriesTable, series_key
from telemetry.topology import Device, Entity, Gpu, Job, Link, Role, Topology, TopologyFact

HOSTS = ("node1", "node2")
CLUSTER: tuple[Entity, ...] = (
    *(Device(name, Role.HOST, rack=f"rack-{name}") for name in HOSTS),
    Device("leaf1", Role.LEAF),
    Device("spine1", Role.SPINE),
    *(Gpu(name, f"GPU-{index}", index) for name in HOSTS for index in range(2)),
    *(Link("leaf1", f"Ethernet{at}", name, "mlx5_0", 4e11) for at, name in enumerate(HOSTS)),
    Link("leaf1", "Ethernet8", "spine1", "Ethernet0", 8e11),
)
WHOLE = Job("1", HOSTS)
HALF = Job("2", ("node2",), gpu_indices=(1,))


def registry() -> Registry:
    found = Registry(1000)
    for name in HOSTS:
        keys = [series_key("gpu_power_watts", {"device": name, "gpu": f"GPU-{index}"}) for index in range(2)]
        nic = series_key("nic_up", {"device": name, "port": "mlx5_0"})
        found.rows(SeriesTable(f"dcgm/{name}", name, (*keys, nic)))
    ports = [series_key("fabric_port_up", {"device": "leaf1", "port": f"Ethernet{at}"}) for at in (0, 1, 8)]
    found.rows(SeriesTable("gnmi/leaf1", "leaf1", tuple(ports)))
    found.intern_devices()
    return found


def topology(*entities: Entity, gone: Entity | None = None) -> Topology:
    facts = [TopologyFact(entity, 1, "test") for entity in (*CLUSTER, *entities)]
    return Topology().with_facts([*facts, *([TopologyFact(gone, 2, "test", gone=True)] if gone else [])])


def gpus_of(index: TopologyIndex, job: Job, of: Registry) -> set[str]:
    position = [each.job_id for each in index.jobs].index(job.job_id)
    return {of.objects.names[number] for number in np.flatnonzero(index.job == position).tolist()}


def test_jobs_that_come_and_go_leave_the_physical_part_the_same_object() -> None:
    known, indexer = registry(), TopologyIndexer()
    before = indexer.index(known, topology(WHOLE))
    after = indexer.index(known, topology(WHOLE, HALF))
    assert after.physical is before.physical
    assert after.rack.size == after.has_link.size == len(known.objects) == before.rack.size + 1


def test_an_index_does_not_depend_on_those_before_it() -> None:
    known, indexer = registry(), TopologyIndexer()
    for each in (topology(), topology(WHOLE), topology(HALF)):
        found = indexer.index(known, each)
    fresh = TopologyIndexer().index(known, topology(HALF))
    for name in ("has_link", "speed_rating", "job", "rack", "uplink_leaf"):
        np.testing.assert_array_equal(getattr(found, name), getattr(fresh, name))
    for kind in ("job", "rail", "leaf", "role"):
        np.testing.assert_array_equal(found.groups[kind].of, fresh.groups[kind].of)
        np.testing.assert_array_equal(found.groups[kind].tags, fresh.groups[kind].tags)


def test_a_cable_that_is_gone_changes_the_physical_part() -> None:
    known, indexer = registry(), TopologyIndexer()
    before = indexer.index(known, topology(WHOLE))
    after = indexer.index(known, topology(WHOLE, gone=CLUSTER[-1]))
    assert after.physical is not before.physical
    uplink = known.objects.names.index("port:leaf1/Ethernet8")
    assert (before.has_link[uplink], after.has_link[uplink]) == (True, False)


def test_series_of_a_new_device_change_the_physical_part() -> None:
    known, indexer = registry(), TopologyIndexer()
    before = indexer.index(known, topology())
    known.rows(SeriesTable("gnmi/spine1", "spine1", (series_key("fabric_port_up", {"device": "spine1", "port": "x"}),)))
    assert indexer.index(known, topology()).physical is not before.physical


def test_a_job_has_all_gpus_of_its_nodes_or_those_of_its_indices() -> None:
    known = registry()
    index = TopologyIndexer().index(known, topology(WHOLE))
    assert gpus_of(index, WHOLE, known) == {f"gpu:{name}/GPU-{at}" for name in HOSTS for at in range(2)}
    index = TopologyIndexer().index(known, topology(HALF))
    assert gpus_of(index, HALF, known) == {"gpu:node2/GPU-1"}


def test_nics_of_one_name_on_the_hosts_of_a_job_are_a_rail() -> None:
    known = registry()
    rail = TopologyIndexer().index(known, topology(WHOLE)).groups["rail"]
    nics = [number for number, name in enumerate(known.objects.names) if name.endswith("/mlx5_0")]
    assert rail.of[nics].tolist() == [0, 0]
    assert (np.delete(rail.of, nics) == -1).all()


def test_the_same_topology_of_the_same_series_is_not_indexed_twice() -> None:
    known, indexer, facts = registry(), TopologyIndexer(), topology(WHOLE)
    assert indexer.index(known, facts) is indexer.index(known, facts)
