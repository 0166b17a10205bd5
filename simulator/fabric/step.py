"""One step of the fabric, if it has anything to do."""

from common.jit import compiled
from simulator.fabric.kernel import advance, pick_active
from simulator.fabric.state import Floats, Flows, Queues


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
