"""Ring all-reduce: how much each member sends, and that no member runs ahead by more than the window."""

import numpy as np
import pytest

from simulator.compute.rings import COMPLETE_BYTES, QUEUE_PAIRS, Rings
from simulator.config import SimulatorConfig
from simulator.fabric.routing import Routes
from simulator.fabric.state import Fabric, Flags
from simulator.wiring import build_layout

LAYOUT = build_layout(SimulatorConfig(hosts=4, gpus_per_host=2))
GRADIENT, WINDOW = 1200.0, 100.0


def rings(hosts: list[int]) -> Rings:
    found = Rings(LAYOUT, Fabric(LAYOUT, 256), Routes(LAYOUT), hosts, WINDOW)
    found.begin(GRADIENT)
    return found


def ready(found: Rings, value: bool = True) -> Flags:
    return np.full(found.rows.shape[:2], value)


def test_each_member_sends_to_the_next_over_four_queue_pairs_a_rail() -> None:
    found = rings([0, 2, 1])
    flows = found._fabric.flows
    assert found.rows.shape == (3, 2, QUEUE_PAIRS)
    order = [0, 2, 1]
    for i in range(3):
        for rail in range(2):
            rows = found.rows[i, rail]
            source = LAYOUT.device_nics[LAYOUT.hosts[order[i]]][rail]
            destination = LAYOUT.device_nics[LAYOUT.hosts[order[(i + 1) % 3]]][rail]
            assert flows.source[rows].tolist() == [source] * QUEUE_PAIRS
            assert flows.destination[rows].tolist() == [destination] * QUEUE_PAIRS
            assert len(set((flows.spread[rows] % 4).tolist())) == QUEUE_PAIRS, "each takes another of the four spines"


@pytest.mark.parametrize(("members", "share"), [(2, 1.0), (3, 4 / 3), (4, 1.5)])
def test_a_member_sends_2_n_minus_1_nths_of_the_gradient(members: int, share: float) -> None:
    """Patarasu and Yuan 2009."""
    found = rings(list(range(members)))
    assert found._size == pytest.approx(share * GRADIENT)


def test_nobody_sends_more_than_the_window_before_it_receives() -> None:
    found = rings([0, 1, 2])
    flows = found._fabric.flows
    assert not found.step(ready(found))
    assert flows.backlog[found.rows].sum(axis=2).tolist() == [[WINDOW] * 2] * 3
    assert not found.step(ready(found))
    assert flows.backlog[found.rows].sum() == 3 * 2 * WINDOW, "nothing more without progress"


def test_a_member_forwards_as_much_as_its_predecessor_delivered_to_it() -> None:
    found = rings([0, 1, 2])
    found.step(ready(found))
    flows = found._fabric.flows
    flows.backlog[found.rows] = 0.0
    flows.delivered[found.rows[0, 0]] = 10.0  # member 0 delivered 40 bytes of rail 0 to member 1
    found.step(ready(found))
    sent = flows.backlog[found.rows].sum(axis=2)
    assert sent.tolist() == [[0.0, 0.0], [40.0, 0.0], [0.0, 0.0]]


def test_a_member_that_still_computes_sends_nothing() -> None:
    found = rings([0, 1, 2])
    waiting = ready(found)
    waiting[1, 0] = False
    found.step(waiting)
    sent = found._fabric.flows.backlog[found.rows].sum(axis=2)
    assert sent.tolist() == [[WINDOW, WINDOW], [0.0, WINDOW], [WINDOW, WINDOW]]


def test_it_is_complete_when_everybody_received_everything() -> None:
    found = rings([0, 1, 2])
    flows, each = found._fabric.flows, found._size / QUEUE_PAIRS
    flows.delivered[found.rows] = each
    flows.delivered[found.rows[2, 1, 3]] = each - COMPLETE_BYTES - 1.0
    assert not found.step(ready(found))
    flows.delivered[found.rows[2, 1, 3]] = each - COMPLETE_BYTES
    assert found.step(ready(found))


def test_no_member_sends_more_than_its_share() -> None:
    found = rings([0, 1])
    flows = found._fabric.flows
    sent = np.zeros(found.rows.shape)
    for _ in range(100):
        if found.step(ready(found)):
            break
        moved = np.minimum(flows.backlog[found.rows], 7.0)
        flows.backlog[found.rows] -= moved
        flows.delivered[found.rows] += moved
        sent += moved
    else:
        pytest.fail("the all-reduce never ends")
    assert sent.sum(axis=2).tolist() == [[pytest.approx(GRADIENT, abs=COMPLETE_BYTES)] * 2] * 2


def test_a_new_all_reduce_starts_from_zero_and_close_returns_the_rows() -> None:
    found = rings([0, 1])
    flows = found._fabric.flows
    flows.delivered[found.rows] = 5.0
    found.begin(2 * GRADIENT)
    assert flows.delivered[found.rows].sum() == 0.0
    assert found._size == 2 * GRADIENT
    found.close()
    assert not flows.used.any()
