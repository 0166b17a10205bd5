"""The starvation ledger: GPU time that running jobs lost, each second with one cause."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from telemetry.objects import EventTime, Finite


class WaitCause(StrEnum):
    """What a GPU waited for. The order is that of the ledger's columns."""

    STORAGE = "storage"  # slow or unfinished reads
    DATA_LOADER = "data_loader"  # its input processes on the same host got no CPU
    CHECKPOINT = "checkpoint"  # the job writes its state
    FABRIC = "fabric"  # pauses, ECN marks, or a bad link on the path of a collective
    PEER = "peer"  # another GPU of the job is late
    THROTTLE = "throttle"  # its own clock is throttled
    HUNG = "hung"  # the whole job makes no progress, and nothing else explains it
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GpuLoss:
    """One GPU in one job. job_id '' is the sum of older jobs.

    since_ns: first sample. watched_s: time covered by samples. lost_s: seconds by ``WaitCause``, without those that
    are 0; their sum is the time lost, and no second has two causes.
    """

    gpu: str
    job_id: str
    since_ns: EventTime
    watched_s: Finite
    lost_s: Mapping[str, Finite] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostLosses:
    """The losses of all GPUs of one host, as of ``at_ns``; replaces the host's earlier record."""

    device: str
    at_ns: EventTime
    gpus: tuple[GpuLoss, ...]

    @property
    def id(self) -> str:
        return self.device
