"""What a full buffer keeps out: its limit (XOFF), and the bytes that go back to the hop before it."""

import numpy as np

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.state import Floats, Ints, Queues
from simulator.fabric.traffic import Passed, Traffic

NIC_XOFF, CREDITS = par.NIC_XOFF_BYTES, par.CREDIT_BYTES
BUFFER, ALPHA = par.BUFFER_BYTES, par.XOFF_ALPHA


@compiled
def thresholds(xoff: Floats, queues: Queues, credit_flow: bool) -> None:
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
def backpressure(traffic: Traffic, passed: Passed, occupied: Floats) -> None:
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
