"""The active flows in one step side by side, taken from their rows and put back, and what became of their bytes."""

from typing import NamedTuple

import numpy as np

from common.jit import compiled
from simulator.fabric.state import Flags, Floats, Flows, Ints


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
def gather(active: Ints, flows: Flows) -> Traffic:
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
def scatter(traffic: Traffic, flows: Flows) -> None:
    """Puts back what each flow has inside."""
    for i in range(traffic.active.size):
        f, waiting = traffic.active[i], 0.0
        for level in range(traffic.inside.shape[0]):
            flows.inside[f, level] = traffic.inside[level, i]
            waiting += traffic.inside[level, i]
        flows.in_flight[f] = waiting > 0.5
