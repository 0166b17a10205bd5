"""The fluid model: bytes are conserved, marks come before pauses, pauses go towards the senders."""

import numpy as np
import pytest

from simulator.config import SimulatorConfig
from simulator.fabric import kernel
from simulator.fabric import parameters as par
from simulator.fabric.marking import equilibrium_queue
from simulator.fabric.routing import Routes
from simulator.fabric.state import CNP_HANDLED, CNP_SENT, Fabric
from simulator.layout import Layout
from simulator.wiring import build_layout

DT = 0.005
LINE = 50e9  # bytes per second of a 400 Gb/s NIC


class Bench:
    """One rail's senders into the NIC of node1, driven by hand. floor: rate below which no sender ever slows down."""

    def __init__(self, senders: int, floor: float = par.MIN_RATE_BYTES_PER_S, hosts: int = 8) -> None:
        self.layout: Layout = build_layout(SimulatorConfig(hosts=hosts))
        self.fabric = Fabric(self.layout, 256)
        names = self.layout.hosts[-senders:]
        source = np.array([self.layout.device_nics[name][0] for name in names])
        self.target = self.layout.device_nics["node1"][0]
        self.rows = self.fabric.add_flows(source, np.full(senders, self.target), np.arange(senders), floor=floor)
        Routes(self.layout).route(self.fabric, self.rows)
        self.steps = 0
        self.offered = 0.0

    @property
    def queue(self) -> int:
        """The leaf port that faces the target."""
        return self.layout.nics[self.target].port

    def run(self, seconds: float, each: float) -> None:
        """Every sender wants ``each`` bytes per second."""
        fabric = self.fabric
        for _ in range(round(seconds / DT)):
            fabric.flows.backlog[self.rows] += each * DT
            self.offered += each * DT * len(self.rows)
            active = kernel.pick_active(fabric.flows)
            self.steps += 1
            kernel.advance(self.steps, DT, active, fabric.flows, fabric.queues, fabric.ports, fabric.events, False)

    def stall(self, stalled: bool) -> None:
        self.fabric.queues.capacity[self.fabric.receive(self.target)] = 0.0 if stalled else par.PCIE_BYTES_PER_S


def test_bytes_are_conserved() -> None:
    bench = Bench(senders=7, floor=LINE / 5)
    bench.run(0.5, LINE / 4)
    flows = bench.fabric.flows
    kept = flows.delivered[bench.rows].sum() + flows.inside[bench.rows].sum() + flows.backlog[bench.rows].sum()
    assert kept == pytest.approx(bench.offered, rel=1e-9)


def test_every_switch_sends_what_it_received_less_what_waits_in_it() -> None:
    bench = Bench(senders=7, floor=LINE / 5)
    bench.run(0.5, LINE / 4)
    layout, queues = bench.layout, bench.fabric.queues
    for ports in layout.switch_ports.values():
        here = np.array(ports)
        feeders = np.array([np.flatnonzero(queues.at[: bench.fabric.ports + bench.fabric.nics] == p)[0] for p in here])
        got, gone, waiting = queues.sent[feeders].sum(), queues.sent[here].sum(), queues.content[here].sum()
        assert got - gone == pytest.approx(waiting, abs=1.0)


def test_marks_come_before_pauses_as_the_load_grows() -> None:
    marks, pauses = [], []
    for load in (0.5, 0.95, 1.1, 1.6):
        bench = Bench(senders=4, floor=LINE * load / 4 if load > 1.5 else par.MIN_RATE_BYTES_PER_S)
        bench.run(0.5, LINE * load / 4)
        marks.append(bench.fabric.queues.marked[bench.queue])
        pauses.append(bench.fabric.queues.pause_s.sum())
    assert marks == sorted(marks)
    assert marks[1] > marks[0]
    assert pauses[:3] == [0.0, 0.0, 0.0]
    assert marks[2] > 0.0
    assert pauses[3] > 0.0


def test_senders_slow_down_to_their_share() -> None:
    bench = Bench(senders=4)
    bench.run(1.0, LINE)
    fabric = bench.fabric
    rates = fabric.flows.rate[bench.rows]
    assert rates.sum() == pytest.approx(LINE, rel=0.1)
    assert fabric.events[CNP_SENT, bench.target] == pytest.approx(fabric.events[CNP_HANDLED].sum())
    assert fabric.events[CNP_SENT, bench.target] > 0


def test_lossless_buffers_hold_while_senders_are_paused() -> None:
    bench = Bench(senders=7, floor=LINE / 5)
    headroom = LINE * 2 * par.HEADROOM_S
    for _ in range(100):
        bench.run(DT, LINE)
        assert bench.fabric.queues.ingress.max() <= par.XOFF_ALPHA * par.BUFFER_BYTES + headroom
    assert bench.fabric.queues.dropped.sum() == 0.0
    assert bench.fabric.queues.pause_s.sum() > 0.0


def test_a_full_receiver_stops_its_leaf_then_spines_then_senders() -> None:
    bench = Bench(senders=2, floor=LINE / 2)  # in the other pod
    bench.stall(True)
    bench.run(0.1, LINE / 2)
    queues, layout = bench.fabric.queues, bench.layout
    assert queues.pause_s[bench.queue] > 0.05
    leaf = layout.ports[bench.queue].device
    spines = [i for i, p in enumerate(layout.ports) if p.peer_device == leaf and p.nic < 0]
    senders = [bench.fabric.egress(int(n)) for n in bench.fabric.flows.source[bench.rows]]
    assert max(queues.pause_s[spines]) > 0.05
    assert min(queues.pause_s[senders]) > 0.05
    assert bench.fabric.flows.delivered[bench.rows].sum() < par.PCIE_BYTES_PER_S * DT


def test_pauses_end_with_their_cause() -> None:
    bench = Bench(senders=2, floor=LINE / 2)
    bench.stall(True)
    bench.run(0.1, LINE / 2)
    bench.stall(False)
    bench.run(1.0, LINE / 4)
    before = bench.fabric.queues.pause_s.copy()
    bench.run(0.5, LINE / 4)
    assert (bench.fabric.queues.pause_s == before).all()
    assert bench.fabric.flows.inside.sum() < 1e6


def test_a_victim_behind_a_paused_link_waits_too() -> None:
    bench = Bench(senders=2, floor=LINE / 2)
    fabric, layout = bench.fabric, bench.layout
    other = layout.device_nics["node2"][0]  # same leaf as the target, healthy
    source = int(fabric.flows.source[bench.rows[0]])
    victim = fabric.add_flows(np.array([source]), np.array([other]), np.array([0]))
    Routes(layout).route(fabric, victim)

    def delivered() -> float:
        before = float(fabric.flows.delivered[victim[0]])
        for _ in range(20):
            fabric.flows.backlog[victim] += 0.2 * LINE * DT
            bench.run(DT, LINE / 4)
        return float(fabric.flows.delivered[victim[0]]) - before

    healthy = delivered()
    bench.stall(True)
    assert delivered() < 0.5 * healthy


@pytest.mark.parametrize(("flows", "capacity"), [(1, 50e9), (8, 50e9), (64, 50e9), (8, 100e9)])
def test_the_equilibrium_queue_is_between_kmin_and_kmax(flows: int, capacity: float) -> None:
    queue = equilibrium_queue(capacity, flows)
    assert capacity * 8 * par.ECN_KMIN_BYTES_PER_BPS < queue < capacity * 8 * par.ECN_KMAX_BYTES_PER_BPS
