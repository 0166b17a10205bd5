"""``WORK``: the class of each kind of work but idle, which is none, and the flows that a mix of them needs."""

from simulator.compute.jobs import JobRun
from simulator.compute.work.base import Work
from simulator.compute.work.kind import WorkKind
from simulator.config import JobMix

WORK: dict[WorkKind, type[Work]] = {
    WorkKind.DATA_PARALLEL: JobRun,
}


def flows_per_gpu(mix: JobMix) -> int:
    """Rows of the flow table for each GPU, enough for every kind of the mix."""
    return max((WORK[kind].flows_per_gpu for kind in mix.kinds if kind is not WorkKind.IDLE), default=0)
