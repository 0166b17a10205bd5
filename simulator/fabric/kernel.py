"""One step of the fluid model: offer, mark and throttle, forward, return what does not fit (PFC), count.

Within a step (milliseconds) queues and DCQCN senders would go through tens of their own cycles, so both are modelled by
their equilibria (see docs/simulator.md). Bytes are exact: what a hop sends is what the next one receives.
"""

from typing import Any, NamedTuple

import numpy as np

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.drops import tail_drop
from simulator.fabric.marking import KMIN, equilibrium_queue, marking
from simulator.fabric.state import (
    CE_RECEIVED,
    CNP_HANDLED,
    CNP_SENT,
    OUT_OF_SEQUENCE,
    SEQUENCE_ERRORS,
    Flags,
    Floats,
    Flows,
    Ints,
    Queues,
)

PACKET, GOODPUT = par.PACKET_BYTES, par.GOODPUT
CNP, TIMER, R_AI, BYTE_COUNTER = par.CNP_INTERVAL_S, par.TIMER_S, par.R_AI_BYTES_PER_S, par.BYTE_COUNTER
REACTION, IDLE, BURST, GO_BACK = par.REACTION_S, par.IDLE_RESET_S, par.BURST_BYTES, par.GO_BACK_PACKETS
NIC_XOFF, HYSTERESIS, HEADROOM = par.NIC_XOFF_BYTES, par.XON_HYSTERESIS_BYTES, par.HEADROOM_S
BUFFER, ALPHA, QUANTA = par.BUFFER_BYTES, par.XOFF_ALPHA, par.PAUSE_QUANTA_BITS / 8
CREDITS = par.CREDIT_BYTES
WARM = 0.8  # part of a step's pause that the next step starts with: keeps victims behind a paused link waiting
UNDERSHOOT = 0.5  # DCQCN drains a queue above its equilibrium with at most this part of the line


class Scratch(NamedTuple):
    """Arrays of one step. A: active flows, Q: queues; bytes.

    active:   int64[A], rows of flows. fresh: bool[A], was idle and starts at line rate.
    volume:   [A] what each flow sends at the current hop. before: [A, L] inside each hop before the step.
    out:      [A, L] sent by each hop. want: [Q] that each queue had to send.
    returned: [Q] sent back to the queue because its far end is full. xoff: [Q] limit at its far end. sent: [Q].
    """

    active: Ints
    fresh: Flags
    volume: Floats
    before: Floats
    out: Floats
    want: Floats
    returned: Floats
    xoff: Floats
    sent: Floats


@compiled
def pick_active(flows: Flows) -> Ints:
    """int64[]: rows of flows with bytes to send or in flight, ascending."""
    found = np.empty(flows.used.size, dtype=np.int64)
    n = 0
    for f in range(flows.used.size):
        if not flows.used[f]:
            continue
        waiting = flows.backlog[f]
        if waiting <= 0.5:
            waiting = 0.0
            for level in range(flows.inside.shape[1]):
                waiting += flows.inside[f, level]
        if waiting > 0.5:
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
    n, n_queues, levels = active.size, queues.rated.size, flows.path.shape[1]
    scratch = Scratch(
        active=active,
        fresh=np.zeros(n, dtype=np.bool_),
        volume=np.zeros(n),
        before=np.zeros((n, levels)),
        out=np.zeros((n, levels)),
        want=np.zeros(n_queues),
        returned=np.zeros(n_queues),
        xoff=np.zeros(n_queues),
        sent=np.zeros(n_queues),
    )
    for i in range(n):
        for level in range(levels):
            scratch.before[i, level] = flows.inside[active[i], level]
    queues.burst[:] = 0.0
    _thresholds(scratch.xoff, queues, credit_flow)
    _offer(step, dt, scratch, flows, queues)
    _throttle(dt, scratch, flows, queues, credit_flow)
    _forward(dt, scratch, flows, queues)
    drops = tail_drop(active, scratch.out, flows, queues, ports, nic)
    _backpressure(scratch, flows, queues)
    _sum_queues(scratch, flows, queues)
    marks = np.zeros(n_queues)
    for q in range(0 if credit_flow else ports):
        if queues.content[q] > 0.0 or queues.burst[q] > 0.0:
            marks[q] = marking(queues.content[q], queues.burst[q], queues.capacity[q])
    _deliver(dt, scratch, flows, queues, marks, drops, nic)
    _count_queues(dt, scratch, queues, marks, drops, credit_flow)


@compiled
def _thresholds(xoff: Floats, queues: Queues, credit_flow: bool) -> None:
    """XOFF of every link: alpha times the free part of the shared buffer at its far end, or the port's own buffer."""
    if credit_flow:
        for q in range(xoff.size):
            xoff[q] = NIC_XOFF if queues.switch_behind[q] < 0 else CREDITS
        return
    used = np.zeros(queues.switch_behind.max() + 1)
    for q in range(xoff.size):
        if queues.switch_behind[q] >= 0:
            used[queues.switch_behind[q]] += queues.ingress[q]
    for q in range(xoff.size):
        s = queues.switch_behind[q]
        xoff[q] = NIC_XOFF if s < 0 else ALPHA * max(0.0, BUFFER - used[s])


@compiled
def _offer(step: int, dt: float, scratch: Scratch, flows: Flows, queues: Queues) -> None:
    """Sets ``volume``: bytes that each sender offers. ``fresh``: it was idle, so it starts at line rate."""
    active, volume, fresh = scratch.active, scratch.volume, scratch.fresh
    idle_steps = max(1, round(IDLE / dt))
    for i in range(active.size):
        f = active[i]
        first = flows.path[f, 0]
        volume[i], fresh[i] = 0.0, False
        if first < 0:
            continue
        line = queues.rated[first] * GOODPUT
        if step - flows.last_active[f] > idle_steps:
            flows.rate[f] = line
            fresh[i] = True
        if flows.backlog[f] > 0.0:
            flows.last_active[f] = step
        volume[i] = min(flows.backlog[f], min(flows.rate[f], flows.limit[f]) * dt)


@compiled
def _throttle(dt: float, scratch: Scratch, flows: Flows, queues: Queues, credit_flow: bool) -> None:
    """Scales ``volume`` by what the NIC's line rate and DCQCN's reaction to marks let through, hop by hop."""
    active, volume, fresh = scratch.active, scratch.volume, scratch.fresh
    n_queues, levels = queues.rated.size, flows.path.shape[1]
    load, count, fresh_load = np.zeros(n_queues), np.zeros(n_queues), np.zeros(n_queues)
    passing, steady = np.ones(n_queues), np.ones(n_queues)
    cut = np.zeros(active.size, dtype=np.bool_)
    for level in range(levels - 1):
        for i in range(active.size):
            q = flows.path[active[i], level]
            if q >= 0 and volume[i] > 0.0:
                load[q] += volume[i]
                count[q] += 1.0
                if fresh[i]:
                    fresh_load[q] += volume[i]
        for i in range(active.size):
            q = flows.path[active[i], level]
            if q >= 0 and count[q] > 0.0:
                if level == 0:
                    passing[q], steady[q] = min(1.0, GOODPUT * (queues.capacity[q] * dt) / load[q]), 1.0
                else:
                    passing[q], steady[q] = _passing(
                        dt, load[q], fresh_load[q], count[q], queues.content[q], queues.capacity[q]
                    )
                utilisation = min(0.98, load[q] / (queues.capacity[q] * dt + 1.0))
                queues.burst[q] = BURST * utilisation / (2.0 * (1.0 - utilisation)) * (1.0 - 1.0 / count[q])
                count[q] = 0.0
        for i in range(active.size):
            f = active[i]
            q = flows.path[f, level]
            if q < 0 or volume[i] <= 0.0:
                continue
            if steady[q] < 1.0 and level > 0:
                flows.rate[f] = max(flows.floor[f], min(flows.rate[f], volume[i] * steady[q] / dt))
                cut[i] = True
            volume[i] = max(volume[i] * passing[q], min(volume[i], flows.floor[f] * dt))
    for i in range(active.size):
        f = active[i]
        if not cut[i] and flows.path[f, 0] >= 0:
            events = dt / TIMER + volume[i] / BYTE_COUNTER
            flows.rate[f] = min(flows.rate[f] + R_AI * events, queues.rated[flows.path[f, 0]] * GOODPUT)


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
def _forward(dt: float, scratch: Scratch, flows: Flows, queues: Queues) -> None:
    """Sends from hop to hop as if no buffer downstream were full. Sets ``out`` and ``want``."""
    active, volume, out, want = scratch.active, scratch.volume, scratch.out, scratch.want
    for level in range(flows.path.shape[1]):
        for i in range(active.size):
            f = active[i]
            q = flows.path[f, level]
            if q >= 0:
                want[q] += flows.inside[f, level] + volume[i]
        for i in range(active.size):
            f = active[i]
            q = flows.path[f, level]
            out[i, level] = 0.0
            if q < 0:
                continue
            have = flows.inside[f, level] + volume[i]
            room = queues.capacity[q] * dt * (1.0 - max(queues.paused[q], queues.held[q]))
            out[i, level] = have if want[q] <= room else have * (room / want[q])
            if level > 0:
                flows.inside[f, level] = have - out[i, level]
            volume[i] = out[i, level]


@compiled
def _hop_after(path: Ints, level: int) -> int:
    """The next hop of a flow that has a hop at ``level``; hops that its path skips are -1."""
    after = level + 1
    while path[after] < 0:
        after += 1
    return after


@compiled
def _backpressure(scratch: Scratch, flows: Flows, queues: Queues) -> None:
    """Returns what exceeds XOFF at each link's far end to the hop before, from the receivers to the senders.

    A link is always at the same level of the paths that cross it.
    """
    active, before, xoff = scratch.active, scratch.before, scratch.xoff
    occupied, grown = np.zeros(xoff.size), np.zeros(xoff.size)
    for level in range(flows.path.shape[1] - 2, -1, -1):
        over = False
        for i in range(active.size):
            f = active[i]
            link = flows.path[f, level]
            if link >= 0:
                after = _hop_after(flows.path[f], level)
                occupied[link] += flows.inside[f, after]
                grown[link] += max(0.0, flows.inside[f, after] - before[i, after])
                over = over or occupied[link] > xoff[link]
        if over:
            _return_excess(level, scratch, flows, occupied, grown)


@compiled
def _return_excess(level: int, scratch: Scratch, flows: Flows, occupied: Floats, grown: Floats) -> None:
    """Returns the newest bytes behind the links at ``level``. occupied, grown: [Q] bytes there, and of this step."""
    active, before, out = scratch.active, scratch.before, scratch.out
    xoff, returned = scratch.xoff, scratch.returned
    for i in range(active.size):
        f = active[i]
        link = flows.path[f, level]
        if link < 0 or occupied[link] <= xoff[link] or grown[link] <= 0.0:
            continue
        after = _hop_after(flows.path[f], level)
        growth = max(0.0, flows.inside[f, after] - before[i, after])
        back = growth * min(1.0, (occupied[link] - xoff[link]) / grown[link])
        flows.inside[f, after] -= back
        out[i, level] -= back
        returned[link] += back
        if level > 0:
            flows.inside[f, level] += back


@compiled
def _sum_queues(scratch: Scratch, flows: Flows, queues: Queues) -> None:
    """Sums the bytes that wait in each queue, that came over each link, and that each queue sent."""
    active, out, sent = scratch.active, scratch.out, scratch.sent
    queues.content[:] = 0.0
    queues.ingress[:] = 0.0
    for i in range(active.size):
        f = active[i]
        flows.backlog[f] -= out[i, 0]
        link = -1
        for level in range(flows.path.shape[1]):
            q = flows.path[f, level]
            if q < 0:
                continue
            sent[q] += out[i, level]
            queues.content[q] += flows.inside[f, level]
            if link >= 0:
                queues.ingress[link] += flows.inside[f, level]
            link = q


@compiled
def _deliver(
    dt: float, scratch: Scratch, flows: Flows, queues: Queues, marks: Floats, drops: Floats, nic: Floats
) -> None:
    """Counts delivered and lost bytes and sends CNPs. marks, drops: [Q] probability of a mark, a drop. nic: [5, N]."""
    active, out, last = scratch.active, scratch.out, flows.path.shape[1] - 1
    for i in range(active.size):
        f = active[i]
        arrived = out[i, last]
        if arrived <= 0.0:
            continue
        unmarked, loss = 1.0, 0.0
        for level in range(last):
            q = flows.path[f, level]
            if q >= 0:
                unmarked *= 1.0 - marks[q]
                loss += queues.loss[q] + drops[q]
        good = arrived / (1.0 + loss * GO_BACK)
        flows.delivered[f] += good
        flows.backlog[f] += arrived - good
        packets = arrived / PACKET
        source, destination = flows.source[f], flows.destination[f]
        nic[OUT_OF_SEQUENCE, destination] += packets * loss
        nic[SEQUENCE_ERRORS, source] += packets * loss
        if unmarked < 1.0:
            windows = dt / CNP
            notified = windows * (1.0 - unmarked ** (packets / windows))
            nic[CNP_SENT, destination] += notified
            nic[CNP_HANDLED, source] += notified
            nic[CE_RECEIVED, destination] += packets * (1.0 - unmarked)
            if unmarked < 0.95:  # far above the equilibrium: the link itself is paused
                flows.rate[f] = max(flows.floor[f], min(flows.rate[f], max(0.7 * flows.rate[f], arrived / dt)))


@compiled
def _count_queues(dt: float, scratch: Scratch, queues: Queues, marks: Floats, drops: Floats, credit_flow: bool) -> None:
    """Counters of every queue and link, and the pauses that the next step starts with."""
    sent, want, xoff, returned = scratch.sent, scratch.want, scratch.xoff, scratch.returned
    for q in range(sent.size):
        capacity = queues.capacity[q]
        queues.sent[q] += sent[q]
        queues.marked[q] += sent[q] / PACKET * marks[q]
        queues.lost[q] += sent[q] / PACKET * queues.loss[q]
        queues.dropped[q] += sent[q] * drops[q]
        queues.peak[q] = max(queues.peak[q], queues.content[q] + queues.burst[q])
        queues.ingress_peak[q] = max(queues.ingress_peak[q], queues.ingress[q])
        if queues.held[q] > 0.0:
            queues.pause_s[q] += dt
            if not credit_flow:
                queues.pause_cycles[q] += queues.paused[q] < 1.0  # once: no frame ends it
                queues.pause_frames[q] += dt * queues.rated[q] / QUANTA
            queues.paused[q] = 1.0
            continue
        paused = returned[q] > 0.0 or (queues.paused[q] > 0.0 and queues.ingress[q] > xoff[q] - HYSTERESIS)
        if not paused or want[q] <= 0.0 or capacity <= 0.0:
            queues.paused[q] = 0.0
            continue
        part = min(1.0, max(0.0, 1.0 - sent[q] / min(want[q], capacity * dt)))
        queues.pause_s[q] += part * dt
        queues.paused[q], before = WARM * part, queues.paused[q]
        if credit_flow:
            continue
        drain = min(sent[q] / dt, capacity)
        cycles = part * dt * drain / HYSTERESIS  # each pause lasts until the far end has drained that much
        if before == 0.0:
            cycles = max(cycles, 1.0)
            queues.headroom_peak[q] = max(queues.headroom_peak[q], capacity * HEADROOM)
        queues.pause_cycles[q] += cycles
        queues.pause_frames[q] += 2.0 * cycles + part * dt * capacity / QUANTA
