"""Single steps of the fluid model on the smallest fabrics, every number by hand.

One leaf, NICs 0, 1, … on its ports 0, 1, …. Queue ids: ports, then egress of the NICs, then their receive buffers.
"""

import numpy as np
import pytest

from simulator.fabric import kernel
from simulator.fabric import parameters as par
from simulator.fabric.marking import equilibrium_queue
from simulator.fabric.state import (
    CE_RECEIVED,
    CNP_HANDLED,
    CNP_SENT,
    OUT_OF_SEQUENCE,
    SEQUENCE_ERRORS,
    Flows,
    Queues,
)

DT = 1e-3
LINE = 50e9  # bytes per second
ROOM = LINE * DT  # 50 MB a step
PCIE = 55e9
MB = 1e6


class Leaf:
    """``nics`` NICs on one leaf. Flow ``f`` goes from ``flows[f][0]`` to ``flows[f][1]``."""

    def __init__(self, nics: int, flows: list[tuple[int, int]]) -> None:
        self.nics, n = nics, 3 * nics
        rated = np.array([LINE] * 2 * nics + [PCIE] * nics)
        behind, at = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        for nic in range(nics):
            at[nic], at[nics + nic] = nics + nic, nic  # the far end of a port is its NIC, that of the NIC its port
            behind[nics + nic] = 0  # a NIC sends into switch 0
        zeros = {
            name: np.zeros(n) for name in Queues._fields if name not in ("rated", "capacity", "switch_behind", "at")
        }
        self.queues = Queues(rated=rated, capacity=rated.copy(), switch_behind=behind, at=at, **zeros)
        count = len(flows)
        source, destination = (np.array(column, np.int64) for column in zip(*flows, strict=True))
        path = np.full((count, 5), -1, np.int64)
        path[:, 0], path[:, 3], path[:, 4] = nics + source, destination, 2 * nics + destination
        self.flows = Flows(
            used=np.ones(count, np.bool_),
            source=source,
            destination=destination,
            spread=np.zeros(count, np.int64),
            path=path,
            backlog=np.zeros(count),
            rate=np.zeros(count),
            floor=np.full(count, par.MIN_RATE_BYTES_PER_S),
            limit=np.full(count, np.inf),
            last_active=np.full(count, -1000, np.int64),
            inside=np.zeros((count, 5)),
            in_flight=np.zeros(count, np.bool_),
            delivered=np.zeros(count),
        )
        self.events = np.zeros((5, nics))
        self.steps = 0

    def egress(self, nic: int) -> int:
        return self.nics + nic

    def receive(self, nic: int) -> int:
        return 2 * self.nics + nic

    def put(self, flow: int, level: int, amount: float) -> None:
        """Bytes that are already on their way."""
        self.flows.inside[flow, level] = amount
        self.flows.in_flight[flow] = self.flows.inside[flow].sum() > 0.5

    def step(self) -> None:
        self.steps += 1
        active = kernel.pick_active(self.flows)
        kernel.advance(self.steps, DT, active, self.flows, self.queues, self.nics, self.events, False)

    def total(self) -> float:
        """Bytes that are delivered, in flight or waiting to be sent."""
        flows = self.flows
        return float(flows.delivered.sum() + flows.inside.sum() + flows.backlog.sum())


def test_what_fits_passes_every_hop_in_one_step() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.backlog[0] = 10 * MB
    leaf.step()
    assert leaf.flows.delivered[0] == 10 * MB
    assert leaf.flows.backlog[0] == leaf.flows.inside.sum() == 0.0
    assert leaf.queues.sent.tolist() == [0.0, 10 * MB, 10 * MB, 0.0, 0.0, 10 * MB]
    assert leaf.queues.pause_s.sum() == leaf.events.sum() == 0.0


def test_a_sender_offers_the_goodput_of_its_line_and_keeps_the_rest() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.backlog[0] = 100 * MB
    leaf.step()
    assert leaf.flows.delivered[0] == pytest.approx(0.94 * ROOM)
    assert leaf.flows.backlog[0] == pytest.approx(100 * MB - 0.94 * ROOM)


def test_an_application_limit_bounds_the_volume() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.backlog[0], leaf.flows.limit[0] = 100 * MB, 3e9
    leaf.step()
    assert leaf.flows.delivered[0] == pytest.approx(3e9 * DT)


def test_two_flows_of_one_nic_share_its_line_evenly() -> None:
    leaf = Leaf(3, [(0, 1), (0, 2)])
    leaf.flows.backlog[:] = 100 * MB
    leaf.step()
    assert leaf.flows.delivered.tolist() == pytest.approx([0.47 * ROOM, 0.47 * ROOM])


def test_a_stalled_receiver_pauses_its_port_and_then_the_sender() -> None:
    """10 MB arrive, none leaves: 1 MB stays in the NIC (its XOFF), 8 MB in the leaf (64 MB / 8), 1 MB in the sender."""
    leaf = Leaf(2, [(0, 1)])
    port, sender = 1, leaf.egress(0)
    leaf.queues.capacity[leaf.receive(1)] = 0.0
    leaf.flows.backlog[0] = 10 * MB
    leaf.step()
    queues = leaf.queues
    assert leaf.flows.inside[0].tolist() == pytest.approx([0.0, 0.0, 0.0, 8 * MB, 1 * MB])
    assert leaf.flows.backlog[0] == pytest.approx(1 * MB)
    assert leaf.total() == pytest.approx(10 * MB)
    assert queues.sent[[port, sender, leaf.receive(1)]].tolist() == pytest.approx([1 * MB, 9 * MB, 0.0])
    assert queues.ingress[[port, sender]].tolist() == pytest.approx([1 * MB, 8 * MB])
    # The port wanted to send 10 MB and sent 1: paused for 90 % of the step. The sender sent 9 of 10.
    assert queues.pause_s[[port, sender]].tolist() == pytest.approx([0.9 * DT, 0.1 * DT])
    assert queues.paused[[port, sender]].tolist() == pytest.approx([0.72, 0.08])
    assert queues.headroom_peak[port] == pytest.approx(LINE * 2.5e-6)
    cycles = 0.9 * 1 * MB / par.XON_HYSTERESIS_BYTES  # each lasts until that much has drained, at 1 MB a step
    assert queues.pause_cycles[port] == pytest.approx(cycles)
    quanta_bytes = 65535 * 512 / 2 / 8
    assert queues.pause_frames[port] == pytest.approx(2 * cycles + 0.9 * DT * LINE / quanta_bytes)


def test_a_pause_of_any_length_is_at_least_one_cycle() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.queues.capacity[leaf.receive(1)] = 0.0
    leaf.flows.backlog[0] = 1.001 * MB  # a thousandth more than the NIC holds: a pause of 1 µs
    leaf.step()
    assert leaf.queues.pause_cycles[1] == 1.0
    leaf = Leaf(2, [(0, 1)])
    leaf.queues.capacity[leaf.receive(1)] = 0.0
    leaf.put(0, 4, 1 * MB)  # full before the step: nothing is sent, so it never ends
    leaf.flows.backlog[0] = 1 * MB
    leaf.step()
    assert leaf.queues.pause_cycles[1] == 1.0


def test_a_pause_ends_in_the_step_in_which_its_cause_is_gone() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.queues.capacity[leaf.receive(1)] = 0.0
    leaf.flows.backlog[0] = 10 * MB
    leaf.step()
    leaf.queues.capacity[leaf.receive(1)] = PCIE
    for _ in range(3):
        leaf.step()
    assert leaf.flows.delivered[0] == pytest.approx(10 * MB)
    assert leaf.queues.paused.tolist() == [0.0] * 6


def test_fresh_senders_overload_a_port_for_one_reaction_time_only() -> None:
    """Two senders at line rate into one port: it sends its line, keeps the equilibrium queue and 100 µs of overload."""
    leaf = Leaf(3, [(0, 2), (1, 2)])
    leaf.flows.backlog[:] = 100 * MB
    leaf.step()
    load = 2 * 0.94 * ROOM
    queue = equilibrium_queue(LINE, 2.0)
    overload = (load - ROOM - queue) * 0.1 * (1 - np.exp(-10.0))  # 100 µs of 1 ms
    assert leaf.flows.delivered.sum() == pytest.approx(ROOM)
    assert leaf.queues.content[2] == pytest.approx(queue + overload)
    assert leaf.flows.rate.tolist() == pytest.approx([LINE / 2, LINE / 2])
    assert leaf.total() == pytest.approx(200 * MB)


def test_senders_that_are_not_cut_gain_additive_increase() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.backlog[0], leaf.flows.rate[0], leaf.flows.last_active[0] = 100 * MB, 1e9, 0
    leaf.step()
    events = DT / 55e-6 + 1e9 * DT / 10e6
    assert leaf.flows.rate[0] == pytest.approx(1e9 + 40e6 / 8 * events)
    assert leaf.flows.delivered[0] == pytest.approx(1e9 * DT)


@pytest.mark.parametrize(("idle_steps", "rate"), [(20, 1e9), (21, 0.94 * LINE)])
def test_a_sender_starts_at_line_rate_after_20_ms_of_idleness(idle_steps: int, rate: float) -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.rate[0], leaf.flows.backlog[0] = 1e9, 10 * MB
    leaf.flows.last_active[0], leaf.steps = 0, idle_steps - 1
    leaf.step()
    assert leaf.flows.delivered[0] == pytest.approx(min(10 * MB, rate * DT))


def test_lost_packets_are_counted_and_sent_again() -> None:
    """1 % of the packets are lost on the NIC's link; go-back-N repeats 120 for each."""
    leaf = Leaf(2, [(0, 1)])
    leaf.queues.loss[leaf.egress(0)] = 0.01
    leaf.flows.backlog[0] = 4.178 * MB
    leaf.step()
    packets = 1000.0
    good = 4.178 * MB / (1 + 0.01 * 120)
    assert leaf.flows.delivered[0] == pytest.approx(good)
    assert leaf.flows.backlog[0] == pytest.approx(4.178 * MB - good)
    assert leaf.queues.lost[leaf.egress(0)] == pytest.approx(packets * 0.01)
    assert leaf.events[OUT_OF_SEQUENCE].tolist() == pytest.approx([0.0, packets * 0.01])
    assert leaf.events[SEQUENCE_ERRORS].tolist() == pytest.approx([packets * 0.01, 0.0])


def test_marked_packets_are_notified_at_most_once_in_50_us() -> None:
    """3.2 MB wait at the port, a third of the way from Kmin 1.6 MB to Kmax 6.4 MB: 1/3 of Pmax 0.2 are marked."""
    leaf = Leaf(2, [(0, 1)])
    leaf.queues.capacity[1] = LINE  # marks are of the queue after the step
    leaf.put(0, 3, ROOM + 3.2 * MB)
    leaf.step()
    p = 0.2 / 3
    packets, windows = ROOM / 4178, DT / 50e-6
    assert leaf.queues.content[1] == pytest.approx(3.2 * MB)
    assert leaf.queues.marked[1] == pytest.approx(packets * p)
    assert leaf.events[CE_RECEIVED, 1] == pytest.approx(packets * p)
    notified = windows * (1 - (1 - p) ** (packets / windows))
    assert notified == pytest.approx(20.0)  # of 600 packets in 50 µs one is marked
    assert leaf.events[CNP_SENT].tolist() == pytest.approx([0.0, notified])
    assert leaf.events[CNP_HANDLED].tolist() == pytest.approx([notified, 0.0])


def test_bursts_of_a_busy_port_follow_from_its_load() -> None:
    """M/D/1-like: B · u / 2(1 - u) · (1 - 1/N) for two flows at half of the line together."""
    leaf = Leaf(3, [(0, 2), (1, 2)])
    leaf.flows.backlog[:] = ROOM / 4
    leaf.step()
    u = (ROOM / 2) / (ROOM + 1.0)
    assert leaf.queues.burst[2] == pytest.approx(64e3 * u / (2 * (1 - u)) / 2)
    assert leaf.queues.peak[2] == pytest.approx(leaf.queues.burst[2])


def test_a_flow_without_a_route_keeps_its_bytes() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.path[0] = -1
    leaf.flows.backlog[0] = 5 * MB
    leaf.step()
    assert leaf.flows.backlog[0] == 5 * MB
    assert leaf.queues.sent.sum() == 0.0


def test_bytes_that_wait_at_a_link_that_is_down_move_on_when_it_is_up_again() -> None:
    leaf = Leaf(2, [(0, 1)])
    leaf.flows.backlog[0], leaf.queues.capacity[1] = 1 * MB, 0.0
    for _ in range(3):
        leaf.step()
    assert leaf.flows.backlog[0] == leaf.flows.delivered[0] == 0.0
    leaf.queues.capacity[1] = LINE
    leaf.step()
    assert leaf.flows.delivered[0] == 1 * MB
    assert not leaf.flows.in_flight.any()


@pytest.mark.parametrize(
    ("backlog", "inside", "used", "active"),
    [(1.0, 0.0, True, True), (0.0, 1.0, True, True), (0.5, 0.5, True, False), (9.0, 9.0, False, False)],
)
def test_active_are_flows_with_bytes_to_send_or_in_flight(
    backlog: float, inside: float, used: bool, active: bool
) -> None:
    leaf = Leaf(2, [(0, 1), (1, 0)])
    leaf.put(1, 3, inside)
    leaf.flows.backlog[1], leaf.flows.used[1] = backlog, used
    assert kernel.pick_active(leaf.flows).tolist() == ([1] if active else [])


@pytest.mark.parametrize("seed", range(4))
def test_bytes_in_are_bytes_out_and_queued_in_every_step(seed: int) -> None:
    """Any load, any stalls: nothing is created or lost, no queue is negative, no buffer exceeds its limit."""
    rng = np.random.default_rng(seed)
    pairs = [(int(a), int(b)) for a, b in rng.integers(0, 4, (12, 2)) if a != b]
    leaf = Leaf(4, pairs)
    leaf.flows.floor[:] = rng.choice([par.MIN_RATE_BYTES_PER_S, LINE / 4], len(pairs))
    offered = 0.0
    for _ in range(60):
        new = rng.uniform(0.0, ROOM / 2, len(pairs)) * (rng.random(len(pairs)) < 0.7)
        leaf.flows.backlog[:] += new
        offered += new.sum()
        for nic in range(4):
            leaf.queues.capacity[leaf.receive(nic)] = PCIE * (rng.random() < 0.6)
        leaf.step()
        assert leaf.total() == pytest.approx(offered, rel=1e-12)
        assert leaf.flows.inside.min() >= -1e-6
        assert leaf.flows.backlog.min() >= -1e-6
        sent, flows = leaf.queues.sent, leaf.flows
        for nic in range(4):
            here = np.array([flows.inside[f, 3] for f, (_, to) in enumerate(pairs) if to == nic])
            arrived = np.array([flows.inside[f, 4] for f, (_, to) in enumerate(pairs) if to == nic])
            assert leaf.queues.content[nic] == pytest.approx(here.sum(), abs=1e-3)
            assert sent[nic] - sent[leaf.receive(nic)] == pytest.approx(arrived.sum(), abs=1.0)
            assert leaf.queues.ingress[nic] <= par.NIC_XOFF_BYTES + 1e-3
        assert leaf.queues.ingress[4:8].max() <= par.XOFF_ALPHA * par.BUFFER_BYTES + 1e-3


Q2 = equilibrium_queue(LINE, 2.0)


@pytest.mark.parametrize(
    ("load", "fresh", "content", "passes"),
    [
        (ROOM, 0.0, 0.0, ROOM),  # as much as fits
        (ROOM + Q2, 0.0, 0.0, ROOM + Q2),  # and what the queue holds at its equilibrium
        (ROOM + Q2, 0.0, Q2 / 2, ROOM + Q2 / 2),  # half of that is there already
        (ROOM + Q2, 0.0, Q2, ROOM),
        (2 * ROOM, 0.0, Q2 + 0.1 * ROOM, 0.9 * ROOM),  # a queue above its equilibrium shrinks
        (2 * ROOM, 0.0, Q2 + 0.9 * ROOM, 0.5 * ROOM),  # by half of the line at most
        (2 * ROOM, 0.25 * ROOM, Q2, ROOM + 0.25 * ROOM * 0.1 * (1 - np.exp(-10.0))),  # fresh senders for 100 us of 1 ms
        (2 * ROOM, 9 * ROOM, Q2, ROOM + ROOM * 0.1 * (1 - np.exp(-10.0))),  # no more than there is too much
    ],
)
def test_a_port_passes_its_line_and_fills_its_queue_to_the_equilibrium(
    load: float, fresh: float, content: float, passes: float
) -> None:
    now, steady = kernel._passing(DT, load, fresh, 2.0, content, LINE)
    assert now * load == pytest.approx(passes)
    assert steady == pytest.approx(ROOM / load)


def test_a_port_without_a_link_leaves_the_load_alone() -> None:
    assert kernel._passing(DT, ROOM, 0.0, 2.0, 0.0, 0.0) == (1.0, 1.0)


def test_an_overloaded_queue_stays_at_its_equilibrium() -> None:
    leaf = Leaf(3, [(0, 2), (1, 2)])
    leaf.flows.backlog[:] = 1e12
    found = []
    for _ in range(30):
        leaf.step()
        found.append(leaf.queues.content[2])
    assert found[10:] == pytest.approx([equilibrium_queue(LINE, 2.0)] * 20, rel=0.05)
