"""Tensor-parallel training: the GPUs of a host compute each layer together over NVLink, and little leaves the host.

Four all-reduces a layer (two in the forward, two in the backward pass) of the activations (Shoeybi et al., Megatron-LM,
2019, section 3). With a hidden size of 12288, 2048 tokens and eight GPUs one is 50 MB, 88 MB on the wire; the layer's
compute of 2.8 TFLOP takes about 7 ms at 400 TFLOP/s, its exchange at 300 GB/s about 1.2 ms: 15 % of the time.
"""

from common.jit import compiled
from simulator.compute.figures import COMPUTE, EXCHANGE, SPIN
from simulator.compute.gpus import Gpus
from simulator.compute.jobs import JobRun
from simulator.fabric.state import Flags, Floats, Ints

EXCHANGE_PART = 0.15
DONE_S = 1e-9  # rounding


@compiled
def compute_together(
    dt: float, gpus: Ints, clock: Floats, hung: Flags, left: Floats, spent: Floats, kernels: Floats, ready: Flags
) -> None:
    """As ``jobs.compute``, but the GPUs of a host wait for each other in every layer: the slowest sets the pace.

    clock: [G] seconds of compute in a second. kernels: [G, 4] seconds of COMPUTE by kernels that differ.
    """
    members, rails = gpus.shape
    for i in range(members):
        pace, stuck = 1.0, False
        for rail in range(rails):
            pace = min(pace, clock[gpus[i, rail]])
            stuck = stuck or hung[gpus[i, rail]]
        busy = 0.0 if stuck else min(dt, max(0.0, left[i].max() / pace))
        for rail in range(rails):
            g = gpus[i, rail]
            own = dt if hung[g] else busy * (1.0 - EXCHANGE_PART) * pace / clock[g]
            exchange = 0.0 if hung[g] else busy * EXCHANGE_PART
            spent[g, COMPUTE] += own + exchange
            kernels[g, EXCHANGE] += exchange
            spent[g, SPIN] += dt - own - exchange
        left[i] -= busy * pace
        ready[i] = not stuck and left[i].max() <= DONE_S


class TensorParallelTraining(JobRun):
    """Tensor-parallel inside a host, data-parallel between hosts: a GPU reduces an eighth of the gradient."""

    framebuffer_used = 72e9
    gradient_part = 1 / 8

    def _advance(self, dt: float, gpus: Gpus) -> bool:
        compute_together(
            dt, self.members.gpus, gpus.work_rate, gpus.hung, self._left, gpus.spent, gpus.kernels, self._ready
        )
        return self._rings.step(self._ready)
