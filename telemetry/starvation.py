"""The starvation ledger: GPU time of running jobs that brought no work, each second with one cause."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class WaitCause(StrEnum):
    """What a GPU waited for. The order is that of the ledger's columns."""

    STORAGE = "storage"  # reads that are slow, or still under way
    DATA_LOADER = "data_loader"  # processes on its own host that feed it and got no CPU
    CHECKPOINT = "checkpoint"  # the job writes its state
    FABRIC = "fabric"  # pauses, marks, or a link that is bad on the way of a collective
    PEER = "peer"  # another GPU of the job is late
    THROTTLE = "throttle"  # its own clock is held down
    HUNG = "hung"  # the whole job stands, and nothing else explains it
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GpuLoss:
    """One GPU in one job. job_id '' is the sum of older jobs.

    since_ns: first sample. watched_s: time that samples cover. lost_s: seconds by ``WaitCause``, without those that
    are 0; their sum is the time lost, and no second has two causes.
    """

    gpu: str
    job_id: str
    since_ns: int
    watched_s: float
    lost_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostLosses:
    """All that the GPUs of one host lost, as of ``at_ns``; replaces what was said before of this host."""

    device: str
    at_ns: int
    gpus: tuple[GpuLoss, ...]

    @property
    def id(self) -> str:
        return self.device
