"""One step of the fluid model: offer, mark and throttle, forward, return what does not fit (PFC), count.

Within a step (milliseconds) queues and DCQCN senders would go through tens of their own cycles, so both are modelled by
their equilibria (see docs/simulator.md). Bytes are exact: what a hop sends is what the next one receives.
"""

from typing import Any

import numpy as np

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.backpressure import backpressure, thresholds
from simulator.fabric.counting import count_queues, sum_queues
from simulator.fabric.drops import tail_drop
from simulator.fabric.marking import KMIN, equilibrium_queue, marking
from simulator.fabric.state import (
    CE_RECEIVED,
    CNP_HANDLED,
    CNP_SENT,
    OUT_OF_SEQUENCE,
    SEQUENCE_ERRORS,
    Floats,
    Flows,
    Ints,
    Queues,
)
from simulator.fabric.traffic import Passed, Traffic, gather, scatter

PACKET, GOODPUT = par.PACKET_BYTES, par.GOODPUT
CNP, TIMER, R_AI, BYTE_COUNTER = par.CNP_INTERVAL_S, par.TIMER_S, par.R_AI_BYTES_PER_S, par.BYTE_COUNTER
REACTION, IDLE, BURST, GO_BACK = par.REACTION_S, par.IDLE_RESET_S, par.BURST_BYTES, par.GO_BACK_PACKETS
UNDERSHOOT = 0.5  # DCQCN drains a queue above its equilibrium with at most this part of the line


@compiled
def pick_active(flows: Flows) -> Ints:
    """int64[]: rows of flows with bytes to send or in flight, ascending."""
    found = np.empty(flows.used.size, dtype=np.int64)
    n = 0
    for f in range(flows.used.size):
        if flows.used[f] and (flows.backlog[f] > 0.5 or flows.in_flight[f]):
            found[n] = f
            n += 1
    return found[:n].copy()


@compiled
def advance(
    step: int,
    dt: float,
    active: Ints,
    flows: Flows,
    queues: Queues,
    ports: int,
    nic: Floats,
    credit_flow: bool,
) -> None:
    """Moves the bytes of the flows ``active`` for ``dt`` seconds; updates all state and counters.

    step: number of this step. ports: number of switch ports; queues below that id mark. nic: [5, N] events, rows
    as in ``state``. credit_flow: InfiniBand: every port has buffers of its own and its peer sends only into what is
    free of them; nobody marks or slows down, and the pause is the time that a port waited for credits.
    """
    n_queues = queues.rated.size
    passed = Passed(
        want=np.zeros(n_queues), returned=np.zeros(n_queues), xoff=np.empty(n_queues), sent=np.zeros(n_queues)
    )
    traffic = gather(active, flows)
    queues.burst[:] = 0.0
    thresholds(passed.xoff, queues, credit_flow)
    _offer(step, dt, traffic, flows, queues)
    _throttle(dt, traffic, flows, queues)
    _forward(dt, traffic, passed.want, queues)
    drops = tail_drop(traffic.path, traffic.inside, traffic.out, active, flows, queues, ports, nic)
    backpressure(traffic, passed, queues.ingress)
    sum_queues(traffic, flows, queues.content, passed.sent)
    marks = np.zeros(n_queues)
    for q in range(0 if credit_flow else ports):
        if queues.content[q] > 0.0 or queues.burst[q] > 0.0:
            marks[q] = marking(queues.content[q], queues.burst[q], queues.capacity[q])
    _deliver(dt, traffic, flows, queues, marks, drops, nic)
    count_queues(dt, passed, queues, marks, drops, credit_flow)
    scatter(traffic, flows)


@compiled
def _offer(step: int, dt: float, traffic: Traffic, flows: Flows, queues: Queues) -> None:
    """Sets ``volume``: bytes that each sender offers. ``fresh``: it was idle, so it starts at line rate."""
    idle_steps = max(1, round(IDLE / dt))
    for i in range(traffic.active.size):
        f = traffic.active[i]
        first = traffic.path[0, i]
        if first < 0:
            continue
        line = queues.rated[first] * GOODPUT
        if step - flows.last_active[f] > idle_steps:
            flows.rate[f] = line
            traffic.fresh[i] = True
        if flows.backlog[f] > 0.0:
            flows.last_active[f] = step
        traffic.volume[i] = min(flows.backlog[f], min(flows.rate[f], flows.limit[f]) * dt)


@compiled
def _throttle(dt: float, traffic: Traffic, flows: Flows, queues: Queues) -> None:
    """Scales ``volume`` by what the NIC's line rate and DCQCN's reaction to marks let through, hop by hop.

    A queue is always at the same level of the paths that cross it. So one pass over the flows scales them at one level
    and adds up the load of the next.
    """
    active, path, volume, fresh = traffic.active, traffic.path, traffic.volume, traffic.fresh
    n, n_queues, levels = active.size, queues.rated.size, path.shape[0]
    load, count, fresh_load = np.zeros(n_queues), np.zeros(n_queues), np.zeros(n_queues)
    passing, steady = np.ones(n_queues), np.ones(n_queues)
    cut = np.zeros(n, dtype=np.bool_)
    for level in range(-1, levels - 1):
        for i in range(n):
            if volume[i] <= 0.0:
                continue
            q = path[level, i] if level >= 0 else -1
            if q >= 0:
                if count[q] > 0.0:  # the first of the flows that cross it
                    if level == 0:
                        passing[q] = min(1.0, GOODPUT * (queues.capacity[q] * dt) / load[q])
                    else:
                        passing[q], steady[q] = _passing(
                            dt, load[q], fresh_load[q], count[q], queues.content[q], queues.capacity[q]
                        )
                    utilisation = min(0.98, load[q] / (queues.capacity[q] * dt + 1.0))
                    queues.burst[q] = BURST * utilisation / (2.0 * (1.0 - utilisation)) * (1.0 - 1.0 / count[q])
                    count[q] = 0.0
                f = active[i]
                if steady[q] < 1.0:
                    flows.rate[f] = max(flows.floor[f], min(flows.rate[f], volume[i] * steady[q] / dt))
                    cut[i] = True
                volume[i] = max(volume[i] * passing[q], min(volume[i], flows.floor[f] * dt))
            if level < levels - 2 and volume[i] > 0.0:
                after = path[level + 1, i]
                if after >= 0:
                    load[after] += volume[i]
                    count[after] += 1.0
                    if fresh[i]:
                        fresh_load[after] += volume[i]
    for i in range(n):
        f = active[i]
        if not cut[i] and path[0, i] >= 0:
            events = dt / TIMER + volume[i] / BYTE_COUNTER
            flows.rate[f] = min(flows.rate[f] + R_AI * events, queues.rated[path[0, i]] * GOODPUT)


@compiled
def _passing(dt: float, load: float, fresh_load: float, senders: float, content: float, capacity: float) -> Any:
    """Fractions of the load that pass in this step, and in the steady state after it; all of it if the link is down."""
    if capacity <= 0.0:
        return 1.0, 1.0
    room = capacity * dt
    # The equilibrium is at KMIN at least: most queues have less to send and need not know where it is.
    if load - room - max(capacity * KMIN - content, -UNDERSHOOT * room) <= 0.0:
        return 1.0, min(1.0, room / load)
    above = max(equilibrium_queue(capacity, senders) - content, -UNDERSHOOT * room)
    excess = load - room - above
    if excess <= 0.0:
        return 1.0, min(1.0, room / load)
    transient = min(excess, fresh_load) * REACTION / dt * (1.0 - np.exp(-dt / REACTION))
    return min(1.0, (room + above + transient) / load), min(1.0, room / load)


@compiled
def _forward(dt: float, traffic: Traffic, want: Floats, queues: Queues) -> None:
    """Sends from hop to hop as if no buffer downstream were full. Sets ``out`` and ``want``.

    As in ``_throttle``, one pass sends at one level and adds up what the next has to send.
    """
    path, volume, inside, out = traffic.path, traffic.volume, traffic.inside, traffic.out
    n, levels = traffic.active.size, path.shape[0]
    room = np.empty(want.size)
    for q in range(room.size):
        room[q] = queues.capacity[q] * dt * (1.0 - max(queues.paused[q], queues.held[q]))
    for level in range(-1, levels):
        for i in range(n):
            if level >= 0:
                q = path[level, i]
                out[level, i] = 0.0
                if q >= 0:
                    have = inside[level, i] + volume[i]
                    out[level, i] = have if want[q] <= room[q] else have * (room[q] / want[q])
                    if level > 0:
                        inside[level, i] = have - out[level, i]
                    volume[i] = out[level, i]
            if level < levels - 1:
                after = path[level + 1, i]
                if after >= 0:
                    want[after] += inside[level + 1, i] + volume[i]


@compiled
def _deliver(
    dt: float, traffic: Traffic, flows: Flows, queues: Queues, marks: Floats, drops: Floats, nic: Floats
) -> None:
    """Counts delivered and lost bytes and sends CNPs. marks, drops: [Q] probability of a mark, a drop. nic: [5, N]."""
    path, last = traffic.path, traffic.path.shape[0] - 1
    loses = False
    for q in range(drops.size):
        loses |= queues.loss[q] + drops[q] > 0.0
    for i in range(traffic.active.size):
        arrived = traffic.out[last, i]
        if arrived <= 0.0:
            continue
        f, unmarked = traffic.active[i], 1.0
        for level in range(last):
            if path[level, i] >= 0:
                unmarked *= 1.0 - marks[path[level, i]]
        packets = arrived / PACKET
        source, destination = flows.source[f], flows.destination[f]
        good = arrived
        if loses:
            loss = 0.0
            for level in range(last):
                if path[level, i] >= 0:
                    loss += queues.loss[path[level, i]] + drops[path[level, i]]
            good = arrived / (1.0 + loss * GO_BACK)
            flows.backlog[f] += arrived - good
            nic[OUT_OF_SEQUENCE, destination] += packets * loss
            nic[SEQUENCE_ERRORS, source] += packets * loss
        flows.delivered[f] += good
        if unmarked < 1.0:
            windows = dt / CNP
            notified = windows * (1.0 - unmarked ** (packets / windows))
            nic[CNP_SENT, destination] += notified
            nic[CNP_HANDLED, source] += notified
            nic[CE_RECEIVED, destination] += packets * (1.0 - unmarked)
            if unmarked < 0.95:  # far above the equilibrium: the link itself is paused
                flows.rate[f] = max(flows.floor[f], min(flows.rate[f], max(0.7 * flows.rate[f], arrived / dt)))
