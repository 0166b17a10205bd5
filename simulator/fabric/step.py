"""Which flows have bytes to move in a step, and whether there is anything to do at all."""

import numpy as np

from common.jit import compiled
from simulator.fabric.kernel import advance
from simulator.fabric.state import Floats, Flows, Ints, Queues


@compiled
def move(
    number: int,
    dt: float,
    flowed: bool,
    flows: Flows,
    queues: Queues,
    ports: int,
    nic: Floats,
    credit_flow: bool,
) -> bool:
    """``advance`` for the flows with bytes, if there are any; whether there were. flowed: in the step before.

    One step more than needed leaves empty queues behind; a deadlock pauses queues without any flow.
    """
    active = pick_active(flows)
    flows_now = active.size > 0
    if flows_now or flowed or queues.held.any():
        advance(number, dt, active, flows, queues, ports, nic, credit_flow)
    return flows_now


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
