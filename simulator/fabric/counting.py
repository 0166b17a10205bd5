"""What the ports count of one step: bytes that wait and were sent, marks, losses, and pauses with their frames."""

from common.jit import compiled
from simulator.fabric import parameters as par
from simulator.fabric.state import Floats, Flows, Queues
from simulator.fabric.traffic import Passed, Traffic

PACKET = par.PACKET_BYTES
HYSTERESIS, HEADROOM = par.XON_HYSTERESIS_BYTES, par.HEADROOM_S
QUANTA = par.PAUSE_QUANTA_BITS / 8
WARM = 0.8  # part of a step's pause that the next step starts with: keeps victims behind a paused link waiting


@compiled
def sum_queues(traffic: Traffic, flows: Flows, content: Floats, sent: Floats) -> None:
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
def count_queues(dt: float, passed: Passed, queues: Queues, marks: Floats, drops: Floats, credit_flow: bool) -> None:
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
