"""The scheduler's record of a job: what Slurm reports about it."""

from dataclasses import dataclass


@dataclass(slots=True)
class RunningJob:
    """A job as the scheduler sees it. ends_ns: 0 while it runs. checkpoints: finished ones.

    last_checkpoint_ns: end of the last finished checkpoint, 0 before the first. gpu_indices: () means all of each node.
    uses_gpus: False for a job that asked for CPUs only. served_s: GPU-seconds at full pace that its requests took, for
    work that has no iterations to count (inference) or whose iterations take longer when slowed (jobs of one host).
    """

    job_id: str
    name: str
    user: str
    partition: str
    nodes: tuple[str, ...]
    started_ns: int
    ends_ns: int = 0
    iterations: int = 0
    checkpoints: int = 0
    last_checkpoint_ns: int = 0
    gpu_indices: tuple[int, ...] = ()
    uses_gpus: bool = True
    served_s: float = 0.0
