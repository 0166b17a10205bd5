"""The 1F1B schedule of a pipeline: which micro-batch each stage computes when, exact within a step.

A stage may begin in the step in which its input was sent, after the time that it takes on an idle line; in later
steps only once the fabric has delivered it. So the schedule does not depend on the length of a step, and congestion
delays it.
"""

from typing import NamedTuple

import numpy as np

from common.jit import compiled
from simulator.compute.figures import COMPUTE, SPIN
from simulator.fabric.state import Flags, Floats, Ints

FORWARD_PART = 1 / 3  # of the compute of a micro-batch: the backward pass takes twice as long
NEVER = 1e30


class Progress(NamedTuple):
    """Of the p stages of one pipeline. Operations are numbered in the order of a stage.

    operation: [p] that it is at. left: [p] seconds of it at full clock. each: [p] seconds of a micro-batch.
    forward, backward: [p] micro-batches done.
    """

    operation: Ints
    left: Floats
    each: Floats
    forward: Ints
    backward: Ints

    @classmethod
    def of(cls, stages: int) -> "Progress":
        """A pipeline that has not begun."""
        counts = [np.zeros(stages, dtype=np.int64) for _ in range(3)]
        return cls(counts[0], np.zeros(stages), np.zeros(stages), counts[1], counts[2])

    def begin(self, each: Floats) -> None:
        """Starts an iteration. each: [p] seconds of compute of a micro-batch at full clock."""
        self.operation[:], self.forward[:], self.backward[:] = 0, 0, 0
        self.each[:] = each
        self.left[:] = each * FORWARD_PART  # all begin with a forward pass


@compiled
def is_forward(operation: int, stage: int, stages: int, micro_batches: int) -> bool:
    """Whether this operation of a stage is a forward pass: first p - 1 - s of them, then in turn with backward ones."""
    warm_up = min(stages - 1 - stage, micro_batches)
    if operation < warm_up:
        return True
    return operation < 2 * micro_batches - warm_up and (operation - warm_up) % 2 == 0


@compiled
def _input_s(
    forward: bool, s: int, wire_s: float, micro_batches: int, progress: Progress, arrived: Ints, done_s: Floats
) -> float:
    """When in this step the input of the next operation of stage ``s`` is there; NEVER: not in this step.

    done_s: [2, p, m] when in this step each micro-batch was done, negative: before it.
    """
    stages = progress.each.size
    if forward:
        k = progress.forward[s]
        if s == 0 or arrived[0, s - 1] > k:
            return 0.0
        sent = done_s[0, s - 1, k]
    else:
        k = progress.backward[s]
        if s == stages - 1 or arrived[1, s] > k:
            return 0.0
        sent = done_s[1, s + 1, k]
    return sent + wire_s if sent >= 0.0 else NEVER


@compiled
def advance_stages(
    dt: float,
    wire_s: float,
    micro_batches: int,
    gpus: Ints,
    clock: Floats,
    hung: Flags,
    progress: Progress,
    arrived: Ints,
    spent: Floats,
) -> Flags:
    """Advances all stages by ``dt`` seconds; [p] whether each has done all its operations.

    wire_s: seconds that activations take on an idle line. gpus: [p, R]. clock, hung: [G]. arrived: [2, p - 1]
    micro-batches that have arrived, forward at the next stage and backward at the one before. spent: [G, 5].
    """
    stages, rails = gpus.shape
    done_s = np.full((2, stages, micro_batches), -1.0)
    free_s, busy_s = np.zeros(stages), np.zeros(stages)
    pace = np.ones(stages)
    for s in range(stages):
        for rail in range(rails):
            pace[s] = min(pace[s], 0.0 if hung[gpus[s, rail]] else clock[gpus[s, rail]])
    moved = True
    while moved:
        moved = False
        for s in range(stages):
            if progress.operation[s] == 2 * micro_batches or free_s[s] >= dt or pace[s] <= 0.0:
                continue
            forward = is_forward(progress.operation[s], s, stages, micro_batches)
            begins_s = max(free_s[s], _input_s(forward, s, wire_s, micro_batches, progress, arrived, done_s))
            if begins_s >= dt:
                continue
            moved = True
            takes_s = min(progress.left[s] / pace[s], dt - begins_s)
            progress.left[s] -= takes_s * pace[s]
            busy_s[s] += takes_s
            free_s[s] = begins_s + takes_s
            if progress.left[s] > 1e-12:
                free_s[s] = dt
                continue
            if forward:
                done_s[0, s, progress.forward[s]] = free_s[s]
                progress.forward[s] += 1
            else:
                done_s[1, s, progress.backward[s]] = free_s[s]
                progress.backward[s] += 1
            progress.operation[s] += 1
            if progress.operation[s] < 2 * micro_batches:
                following = is_forward(progress.operation[s], s, stages, micro_batches)
                progress.left[s] = progress.each[s] * (FORWARD_PART if following else 1.0 - FORWARD_PART)
    for s in range(stages):
        for rail in range(rails):
            g = gpus[s, rail]
            computing = dt if hung[g] else busy_s[s] * (pace[s] / clock[g])
            spent[g, COMPUTE] += computing
            spent[g, SPIN] += dt - computing
    done: Flags = progress.operation == 2 * micro_batches
    return done
