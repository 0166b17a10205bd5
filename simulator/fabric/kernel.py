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


class Traffic(NamedTuple):
    """The active flows in one step, side by side: A flows, L levels of their paths; bytes.

    active:  int64[A], rows of flows. path: [L, A] queue ids. fresh: bool[A], was idle and starts at line rate.
    volume:  [A] what each flow sends at the current hop. before, inside: [L, A] at each hop before the step, and now.
    out:     [L, A] sent by each hop.
    """

    active: Ints
    path: Ints
    fresh: Flags
    volume: Floats
    before: Floats
    inside: Floats
    out: Floats


class Passed(NamedTuple):
    """What became of queues in one step, [Q] bytes.

    want: what each queue had to send. returned: sent back to it because its far end is full. xoff: limit there. sent.
    """

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
    traffic = _gather(active, flows)
    queues.burst[:] = 0.0
    _thresholds(passed.xoff, queues, credit_flow)
    _offer(step, dt, traffic, flows, queues)
    _throttle(dt, traffic, flows, queues)
    _forward(dt, traffic, passed.want, queues)
    drops = tail_drop(traffic.path, traffic.inside, traffic.out, active, flows, queues, ports, nic)
    _backpressure(traffic, passed, queues.ingress)
    _sum_queues(traffic, flows, queues.content, passed.sent)
    marks = np.zeros(n_queues)
    for q in range(0 if credit_flow else ports):
        if queues.content[q] > 0.0 or queues.burst[q] > 0.0:
            marks[q] = marking(queues.content[q], queues.burst[q], queues.capacity[q])
    _deliver(dt, traffic, flows, queues, marks, drops, nic)
    _count_queues(dt, passed, queues, marks, drops, credit_flow)
    _scatter(traffic, flows)


@compiled
def _gather(active: Ints, flows: Flows) -> Traffic:
    n, levels = active.size, flows.path.shape[1]
    path, inside = np.empty((levels, n), dtype=np.int64), np.empty((levels, n))
    for i in range(n):
        f = active[i]
        for level in range(levels):
            path[level, i] = flows.path[f, level]
            inside[level, i] = flows.inside[f, level]
    fresh = np.zeros(n, dtype=np.bool_)
    return Traffic(active, path, fresh, np.zeros(n), inside.copy(), inside, np.empty((levels, n)))


@compiled
def _scatter(traffic: Traffic, flows: Flows) -> None:
    """Puts back what each flow has inside."""
    for i in range(traffic.active.size):
        f, waiting = traffic.active[i], 0.0
        for level in range(traffic.inside.shape[0]):
            flows.inside[f, level] = traffic.inside[level, i]
            waiting += traffic.inside[level, i]
        flows.in_flight[f] = waiting > 0.5


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
def _backpressure(traffic: Traffic, passed: Passed, occupied: Floats) -> None:
    """Returns what exceeds XOFF at each link's far end to the hop before, from the receivers to the senders.

    Sets ``occupied``, [Q] bytes that came over a link and wait behind it. A link is always at the same level of the
    paths that cross it.
    """
    path, before, inside, xoff = traffic.path, traffic.before, traffic.inside, passed.xoff
    n, last = traffic.active.size, path.shape[0] - 1
    grown = np.zeros(xoff.size)
    after = np.full(n, last)  # the next hop of each flow; hops that its path skips are none
    occupied[:] = 0.0
    for level in range(last - 1, -1, -1):
        over = False
        for i in range(n):
            link = path[level, i]
            if link >= 0:
                there = inside[after[i], i]
                if there != 0.0:
                    occupied[link] += there
                    grown[link] += max(0.0, there - before[after[i], i])
                    over = over or occupied[link] > xoff[link]
        if over:
            _return_excess(level, traffic, passed, after, occupied, grown)
        for i in range(n):
            if path[level, i] >= 0:
                after[i] = level


@compiled
def _return_excess(level: int, traffic: Traffic, passed: Passed, after: Ints, occupied: Floats, grown: Floats) -> None:
    """Returns the newest bytes behind the links at ``level``. occupied, grown: [Q] bytes there, and of this step."""
    path, before, inside, out = traffic.path, traffic.before, traffic.inside, traffic.out
    xoff, returned = passed.xoff, passed.returned
    for i in range(after.size):
        link = path[level, i]
        if link < 0 or occupied[link] <= xoff[link] or grown[link] <= 0.0:
            continue
        growth = max(0.0, inside[after[i], i] - before[after[i], i])
        back = growth * min(1.0, (occupied[link] - xoff[link]) / grown[link])
        inside[after[i], i] -= back
        out[level, i] -= back
        returned[link] += back
        if level > 0:
            inside[level, i] += back
    for i in range(after.size):
        if path[level, i] >= 0:
            occupied[path[level, i]] = 0.0
    for i in range(after.size):
        if path[level, i] >= 0:
            occupied[path[level, i]] += inside[after[i], i]


@compiled
def _sum_queues(traffic: Traffic, flows: Flows, content: Floats, sent: Floats) -> None:
    """Sums the bytes that wait in each queue, and that each queue sent."""
    path, inside, out = traffic.path, traffic.inside, traffic.out
    content[:] = 0.0
    for i in range(traffic.active.size):
        flows.backlog[traffic.active[i]] -= out[0, i]
    for level in range(path.shape[0]):
        for i in range(traffic.active.size):
            q = path[level, i]
            if q >= 0:
                sent[q] += out[level, i]
                if inside[level, i] != 0.0:
                    content[q] += inside[level, i]


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


@compiled
def _count_queues(dt: float, passed: Passed, queues: Queues, marks: Floats, drops: Floats, credit_flow: bool) -> None:
    """Counters of every queue and link, and the pauses that the next step starts with."""
    sent, want, xoff, returned = passed.sent, passed.want, passed.xoff, passed.returned
    for q in range(sent.size):
        if sent[q] != 0.0:
            queues.sent[q] += sent[q]
            if marks[q] > 0.0:
                queues.marked[q] += sent[q] / PACKET * marks[q]
            if queues.loss[q] > 0.0:
                queues.lost[q] += sent[q] / PACKET * queues.loss[q]
            if drops[q] > 0.0:
                queues.dropped[q] += sent[q] * drops[q]
        if queues.content[q] + queues.burst[q] > queues.peak[q]:
            queues.peak[q] = queues.content[q] + queues.burst[q]
        if queues.ingress[q] > queues.ingress_peak[q]:
            queues.ingress_peak[q] = queues.ingress[q]
        if queues.held[q] > 0.0:
            queues.pause_s[q] += dt
            if not credit_flow:
                queues.pause_cycles[q] += queues.paused[q] < 1.0  # once: no frame ends it
                queues.pause_frames[q] += dt * queues.rated[q] / QUANTA
            queues.paused[q] = 1.0
            continue
        if returned[q] <= 0.0 and queues.paused[q] <= 0.0:
            continue
        capacity = queues.capacity[q]
        paused = returned[q] > 0.0 or queues.ingress[q] > xoff[q] - HYSTERESIS
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
