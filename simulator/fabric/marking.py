"""ECN marking: RED on a queue with bursts, and the queue at which DCQCN senders are in equilibrium."""

import numpy as np

from common.jit import compiled
from simulator.fabric import parameters as par

PACKET = par.PACKET_BYTES
KMIN, KMAX, PMAX = par.ECN_KMIN_BYTES_PER_BPS * 8, par.ECN_KMAX_BYTES_PER_BPS * 8, par.ECN_PMAX
TIMER, R_AI, BYTE_COUNTER = par.TIMER_S, par.R_AI_BYTES_PER_S, par.BYTE_COUNTER


@compiled
def equilibrium_queue(capacity: float, flows: float) -> float:
    """Bytes in a queue of ``capacity`` bytes/s at the equilibrium of ``flows`` DCQCN senders.

    The marking probability of DCQCN's fixed point (Zhu et al., ECN or Delay, CoNEXT 2016, eq. 11):
    p = cbrt(R_AI N² / (tau C²) · (1/B + N/(T C))²), in packets, then the RED line backwards.
    """
    c = capacity / PACKET
    term = 1.0 / (BYTE_COUNTER / PACKET) + flows / (TIMER * c)
    p = (R_AI / PACKET * flows * flows / (TIMER * c * c) * term * term) ** (1.0 / 3.0)
    queue: float = capacity * (KMIN + min(p / PMAX, 1.0) * (KMAX - KMIN))
    return queue


@compiled
def marking(content: float, burst: float, capacity: float) -> float:
    """Probability that RED marks a packet: the line between Kmin and Kmax, averaged over bursts of mean ``burst``."""
    if capacity <= 0.0:
        return 0.0
    low, high = capacity * KMIN, capacity * KMAX
    if content >= high:
        return 1.0
    p = max(0.0, (content - low) / (high - low)) * PMAX
    if burst > 0.0 and content < low:
        p += np.exp(-(low - content) / burst) * burst / (high - low) * PMAX
    return min(p, 1.0)
