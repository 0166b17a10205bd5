"""How fast each running job works, against its own last hour: what its GPUs do, every ten seconds of event time."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import fmean, median

from common.units import NS_PER_S
from fabricscope.api.wall.gpus import KnownGpus
from fabricscope.api.wall.newest import NewestSamples
from telemetry.samples import SampleBatch
from telemetry.topology import Gpu, Job, Topology

TENSOR, SM = "gpu_tensor_active_ratio", "gpu_sm_active_ratio"
_ROUND_NS = 10 * NS_PER_S
_KEPT = 360  # an hour of rounds
_NOW = 3  # rounds that are "now": a step or a short checkpoint is not a pace
_USUAL_MIN = 6  # rounds before there is a usual level: as many as the detectors ask for
_OLD_NS = 60 * NS_PER_S
_GPUS_SHARE = 0.5  # of the job's GPUs must have fresh values
_WORK_MIN = 0.01  # a usual level below it is no work


@dataclass(frozen=True, slots=True)
class Pace:
    """Work as a share of what the GPUs could do: the mean activity of their tensor cores, or of their SMs.

    now: None where too few of its GPUs report. usual: the median of the last hour before now; None while it is learned.
    """

    now: float | None = None
    usual: float | None = None


class Paces:
    """The work of all running jobs."""

    def __init__(self) -> None:
        self.gpus = KnownGpus((TENSOR, SM))
        self._samples = NewestSamples((TENSOR, SM))
        self._rounds: dict[str, deque[float | None]] = {}
        self._round = 0

    def add(self, batch: SampleBatch, topology: Topology) -> None:
        """One collection; at the first one of a round the round before it is over."""
        number = batch.collection.collected_ns // _ROUND_NS
        if number > self._round:
            if self._round:
                self._close(number * _ROUND_NS, topology)
            self._round = number
        self.gpus.add(batch)
        self._samples.add(batch)

    def of(self, job_id: str) -> Pace:
        rounds = list(self._rounds.get(job_id, ()))
        newest = [work for work in rounds[-_NOW:] if work is not None]
        before = [work for work in rounds[:-_NOW] if work is not None]
        usual = median(before) if len(before) >= _USUAL_MIN else None
        return Pace(fmean(newest) if newest else None, usual if usual and usual >= _WORK_MIN else None)

    def _close(self, now_ns: int, topology: Topology) -> None:
        jobs = topology.entities(Job)
        work = self._work(now_ns) if jobs else {}
        self._rounds = {job.job_id: self._rounds.get(job.job_id, deque(maxlen=_KEPT)) for job in jobs}
        gpus = gpus_of(jobs, self.gpus.of(topology))
        for job in jobs:
            known = [work[gpu] for gpu in gpus[job.job_id] if gpu in work]
            enough = known and len(known) >= _GPUS_SHARE * len(gpus[job.job_id])
            self._rounds[job.job_id].append(fmean(known) if enough else None)

    def _work(self, now_ns: int) -> Mapping[tuple[str, str], float]:
        """By device and UUID. Tensor cores count before SMs, which are also busy when they wait."""
        found: dict[str, dict[tuple[str, str], float]] = {TENSOR: {}, SM: {}}
        for one in self._samples.all():
            if now_ns - one.time_ns <= _OLD_NS:
                found[one.metric][one.labels.get("device", ""), one.labels.get("gpu", "")] = one.value
        return found[SM] | found[TENSOR]


def gpus_of(jobs: Iterable[Job], gpus: Iterable[Gpu]) -> Mapping[str, list[tuple[str, str]]]:
    """Device and UUID of the GPUs that each job uses, by its id."""
    on: dict[str, list[Gpu]] = {}
    for gpu in gpus:
        on.setdefault(gpu.device, []).append(gpu)
    return {
        job.job_id: [
            (gpu.device, gpu.uuid)
            for node in job.nodes
            for gpu in on.get(node, ())
            if not job.gpu_indices or gpu.index in job.gpu_indices
        ]
        for job in jobs
    }
