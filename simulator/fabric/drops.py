"""Queues that are not lossless: they drop at their tail instead of pausing."""

import numpy as np

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.state import OUT_OF_SEQUENCE, SEQUENCE_ERRORS, Floats, Flows, Ints, Queues

PACKET, BURST = par.PACKET_BYTES, par.BURST_BYTES


@compiled
def tail_drop(
    path: Ints, inside: Floats, out: Floats, active: Ints, flows: Flows, queues: Queues, ports: int, nic: Floats
) -> Floats:
    """[Q] part of the packets that a queue which is not lossless drops: what it would hold above its limit, and what
    finds it full in bursts. That part is the loss of an M/M/1/K queue, (1 - rho) rho^K (Kleinrock, Queueing Systems,
    vol. 1, section 3.6), with 1 - rho from the mean of the bursts.

    path, inside, out: [L, A] queue ids, and bytes that wait there and were sent. active: [A] rows of flows. ports:
    queues below that id can drop. nic: [5, N].
    """
    drops = np.zeros(queues.rated.size)
    if not _any_drops(queues.tail_drop, ports):
        return drops
    content, sent = np.zeros(drops.size), np.zeros(drops.size)
    for level in range(1, path.shape[0] - 1):
        for i in range(active.size):
            q = path[level, i]
            if q >= 0:
                content[q] += inside[level, i]
                sent[q] += out[level, i]
    for q in range(ports):
        limit = queues.tail_drop[q]
        if limit > 0.0 and queues.burst[q] > 0.0:
            full = np.exp(-max(0.0, limit - content[q]) / queues.burst[q])
            drops[q] = full * BURST / (BURST + 2.0 * queues.burst[q])
        if limit > 0.0 and content[q] > limit:
            excess = content[q] - limit
            drops[q] = max(drops[q], excess / (excess + sent[q]))
    for i in range(active.size):
        f = active[i]
        for level in range(1, path.shape[0] - 1):
            q = path[level, i]
            if q < 0 or queues.tail_drop[q] <= 0.0 or content[q] <= queues.tail_drop[q]:
                continue
            lost = inside[level, i] * (1.0 - queues.tail_drop[q] / content[q])
            inside[level, i] -= lost
            flows.backlog[f] += lost
            queues.dropped[q] += lost
            nic[OUT_OF_SEQUENCE, flows.destination[f]] += lost / PACKET
            nic[SEQUENCE_ERRORS, flows.source[f]] += lost / PACKET
    return drops


@compiled
def _any_drops(limits: Floats, ports: int) -> bool:
    for q in range(ports):  # noqa: SIM110  # what is compiled has no any()
        if limits[q] > 0.0:
            return True
    return False
