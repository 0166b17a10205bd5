"""Queue ids, and the table of flows whose rows are reused."""

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.fabric import parameters as par
from simulator.fabric.state import Fabric
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=2, gpus_per_host=2, nic_gbps=100.0))


def fabric(rows: int = 4) -> Fabric:
    return Fabric(LAYOUT, rows)


def test_queue_ids_are_ports_then_nic_egress_then_receive_buffers() -> None:
    found = fabric()
    ports, nics = len(LAYOUT.ports), len(LAYOUT.nics)
    assert len(found.queues.rated) == ports + 2 * nics
    assert (found.egress(1), found.receive(1)) == (ports + 1, ports + nics + 1)
    assert found.queues.rated[found.egress(0)] == 100e9 / 8
    assert found.queues.rated[found.receive(0)] == par.PCIE_BYTES_PER_S


def test_the_far_end_of_every_link_is_the_port_that_the_layout_names() -> None:
    found = fabric()
    switches = list(LAYOUT.switches)
    for i, port in enumerate(LAYOUT.ports):
        if port.nic >= 0:
            assert (found.queues.at[i], found.queues.switch_behind[i]) == (found.egress(port.nic), -1)
        else:
            assert (found.queues.at[i], found.queues.switch_behind[i]) == (
                port.peer_port,
                switches.index(port.peer_device),
            )
    for i, nic in enumerate(LAYOUT.nics):
        assert found.queues.at[found.egress(i)] == nic.port
        assert switches[found.queues.switch_behind[found.egress(i)]] == LAYOUT.ports[nic.port].device
        assert found.queues.at[found.receive(i)] == found.queues.switch_behind[found.receive(i)] == -1


def add(found: Fabric, count: int) -> list[int]:
    rows: list[int] = found.add_flows(np.zeros(count, np.int64), np.ones(count, np.int64), np.arange(count)).tolist()
    return rows


def test_new_flows_are_idle_and_without_a_limit() -> None:
    found = fabric()
    rows = add(found, 2)
    flows = found.flows
    assert flows.used[rows].all()
    assert flows.spread[rows].tolist() == [0, 1]
    assert flows.backlog[rows].sum() == flows.delivered[rows].sum() == flows.inside[rows].sum() == 0.0
    assert np.isinf(flows.limit[rows]).all()
    assert flows.floor[rows].tolist() == [par.MIN_RATE_BYTES_PER_S] * 2


def test_removed_rows_are_used_again_without_their_old_state() -> None:
    found = fabric()
    first = add(found, 3)
    found.flows.delivered[first] = 5.0
    found.remove_flows(np.array(first))
    assert not found.flows.used.any()
    assert sorted(add(found, 4)) == [0, 1, 2, 3]
    assert found.flows.delivered.sum() == 0.0


def test_bytes_of_removed_flows_are_dropped_in_their_queues() -> None:
    found = fabric()
    rows = np.array(add(found, 2))
    found.flows.path[rows] = [[7, 1, 2, 3, 9], [8, -1, -1, 3, 9]]
    found.flows.inside[rows] = [[0, 10, 20, 30, 40], [0, 99, 99, 3, 4]]  # 99: levels that this path skips
    found.remove_flows(rows)
    assert found.queues.dropped[[1, 2, 3, 9]].tolist() == [10.0, 20.0, 33.0, 44.0]
    assert found.queues.dropped.sum() == 107.0
    assert (found.flows.path[rows] == -1).all()


def test_a_full_table_refuses_more_flows() -> None:
    found = fabric(rows=3)
    add(found, 2)
    with pytest.raises(ValueError, match="2 more rows do not fit into 3"):
        add(found, 2)
