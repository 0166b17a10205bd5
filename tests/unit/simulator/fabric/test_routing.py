"""Routes over the links that are up, and what becomes of bytes on a path that is given up."""

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.fabric import parameters as par
from simulator.fabric.links import Links
from simulator.fabric.routing import Routes
from simulator.fabric.state import OUT_OF_SEQUENCE, Fabric, Ints
from simulator.layout import Layout
from simulator.wiring import build_layout

LAYOUT: Layout = build_layout(SimulatorConfig(hosts=4))  # two pods of two hosts, four spines
NIC = LAYOUT.nic_index


def between(device: str, peer: str) -> int:
    return next(i for i, p in enumerate(LAYOUT.ports) if (p.device, p.peer_device) == (device, peer))


class Net:
    """A fabric with one flow of each (source, destination, spread)."""

    def __init__(self, *flows: tuple[int, int, int]) -> None:
        self.fabric, self.routes = Fabric(LAYOUT, 16), Routes(LAYOUT)
        source, destination, spread = (np.array(column) for column in zip(*flows, strict=True))
        self.rows: Ints = self.fabric.add_flows(source, destination, spread)

    def path(self, row: int = 0) -> list[int]:
        self.routes.route(self.fabric, self.rows)
        found: list[int] = self.fabric.flows.path[self.rows[row]].tolist()
        return found


HERE, NEIGHBOUR = NIC["node1", "mlx5_0"], NIC["node2", "mlx5_0"]
FAR = NIC["node3", "mlx5_0"]


def test_hosts_of_one_leaf_need_no_spine() -> None:
    net = Net((HERE, NEIGHBOUR, 3))
    leaf_port = LAYOUT.nics[NEIGHBOUR].port
    assert net.path() == [net.fabric.egress(HERE), -1, -1, leaf_port, net.fabric.receive(NEIGHBOUR)]


@pytest.mark.parametrize("spread", range(6))
def test_a_flow_takes_the_spine_of_its_spread_number(spread: int) -> None:
    net = Net((HERE, FAR, spread))
    leaf, far_leaf = LAYOUT.ports[LAYOUT.nics[HERE].port].device, LAYOUT.ports[LAYOUT.nics[FAR].port].device
    spine = f"spine{spread % 4 + 1}"
    assert net.path()[1:3] == [between(leaf, spine), between(spine, far_leaf)]


def test_a_dead_uplink_shifts_flows_to_the_spines_that_are_left() -> None:
    net = Net(*((HERE, FAR, spread) for spread in range(6)))
    net.fabric.queues.capacity[between("leaf1", "spine2")] = 0.0
    spines = [LAYOUT.ports[net.path(row)[1]].peer_device for row in range(6)]
    assert spines == ["spine1", "spine3", "spine4"] * 2


def test_a_dead_downlink_counts_like_a_dead_uplink() -> None:
    net = Net((HERE, FAR, 1))
    far_leaf = LAYOUT.ports[LAYOUT.nics[FAR].port].device
    net.fabric.queues.capacity[between("spine2", far_leaf)] = 0.0
    assert LAYOUT.ports[net.path()[1]].peer_device == "spine3"


@pytest.mark.parametrize("queue", ["source", "destination", "all spines"])
def test_without_a_way_there_is_no_route(queue: str) -> None:
    net = Net((HERE, FAR, 0))
    dead = {
        "source": [net.fabric.egress(HERE)],
        "destination": [LAYOUT.nics[FAR].port],
        "all spines": [between("leaf1", spine) for spine in LAYOUT.spines],
    }
    net.fabric.queues.capacity[dead[queue]] = 0.0
    assert net.path() == [-1] * 5


def test_bytes_on_an_abandoned_path_are_dropped_and_sent_again() -> None:
    net = Net((HERE, FAR, 0))
    path, flows, queues = net.path(), net.fabric.flows, net.fabric.queues
    flows.inside[net.rows[0]] = [0.0, 100.0, 20.0, 3.0, 0.0]
    flows.backlog[net.rows[0]] = 7.0
    queues.capacity[path[1]] = 0.0
    assert net.path() != path
    assert queues.dropped[path].tolist() == [0.0, 100.0, 20.0, 3.0, 0.0]
    assert flows.backlog[net.rows[0]] == 130.0
    assert flows.inside[net.rows[0]].sum() == 0.0
    assert net.fabric.events[OUT_OF_SEQUENCE, FAR] == 1.0


def test_a_path_that_stays_keeps_its_bytes() -> None:
    net = Net((HERE, FAR, 0))
    path = net.path()
    net.fabric.flows.inside[net.rows[0], 1] = 100.0
    net.fabric.queues.capacity[between("leaf1", "spine4")] = 0.0  # another spine: the modulo changes, spread 0 does not
    assert net.path() == path
    assert net.fabric.flows.inside[net.rows[0], 1] == 100.0
    assert net.fabric.events.sum() == 0.0


def test_background_traffic_loads_every_queue_of_its_path_once() -> None:
    net = Net((HERE, FAR, 0))
    net.routes.load_background(net.fabric, [(HERE, FAR), (HERE, NEIGHBOUR)])
    loaded = net.fabric.background / par.BACKGROUND_BYTES_PER_S
    assert loaded[net.fabric.egress(HERE)] == 2.0
    assert loaded[LAYOUT.nics[FAR].port] == loaded[LAYOUT.nics[NEIGHBOUR].port] == 1.0
    assert loaded.sum() == 5.0 + 3.0
    net.routes.load_background(net.fabric, [])
    assert net.fabric.background.sum() == 0.0


@pytest.fixture
def links() -> Links:
    fabric, routes = Fabric(LAYOUT, 16), Routes(LAYOUT)
    found = Links(LAYOUT, fabric, routes, now_ns=5)
    found.refresh(5)
    return found


def test_a_cut_cable_is_down_at_both_ends_until_the_last_reason_is_gone(links: Links) -> None:
    port = between("leaf1", "spine1")
    ends = links.ends(port)
    assert sorted(ends) == sorted([port, between("spine1", "leaf1")])
    for now_ns, reasons in ((10, 1), (20, 1), (30, -1)):
        links.cuts[ends] += reasons
        links.refresh(now_ns)
    assert not links.port_up[ends].any()
    assert links.port_up.sum() == len(LAYOUT.ports) - 2
    assert links.flaps[ends].tolist() == [1.0, 1.0]
    assert links.changed_ns[ends].tolist() == [10, 10]
    links.cuts[ends] -= 1
    links.refresh(40)
    assert links.port_up.all()
    assert links.flaps[ends].tolist() == [2.0, 2.0]
    assert links.changed_ns[ends].tolist() == [40, 40]


def test_the_link_of_a_nic_has_one_switch_port_and_counts_flaps_on_both_sides(links: Links) -> None:
    port = LAYOUT.nics[HERE].port
    assert links.ends(port) == [port]
    links.cuts[port] += 1
    links.refresh(10)
    assert not links.nic_up[HERE]
    assert links.nic_up.sum() == len(LAYOUT.nics) - 1
    assert (links.flaps[port], links.nic_flaps[HERE]) == (1.0, 1.0)


def test_a_device_that_is_off_takes_its_links_down(links: Links) -> None:
    links.device_on[LAYOUT.device_index["spine1"]] = False
    links.refresh(10)
    down = {LAYOUT.ports[i].device for i in np.flatnonzero(~links.port_up)}
    assert down == {"spine1", *LAYOUT.leaves}


def test_capacities_follow_speed_and_state_in_both_directions(links: Links) -> None:
    port, nic = LAYOUT.nics[HERE].port, HERE
    fabric = links._fabric
    rated = fabric.queues.rated[port]
    for factor, cut, expected in ((0.25, 0, 0.25), (1.0, 1, 0.0), (1.0, 0, 1.0)):
        links.speed_factor[port], links.cuts[port] = factor, cut
        links.refresh(10)
        assert fabric.queues.capacity[[port, fabric.egress(nic)]].tolist() == [expected * rated] * 2
    assert fabric.queues.capacity[fabric.receive(nic)] == par.PCIE_BYTES_PER_S
