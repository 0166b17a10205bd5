"""How fast each running job works, against its own last hour: what its GPUs do, every ten seconds of event time."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from common.units import NS_PER_S
from fabricscope.api.wall.gpus import KnownGpus
from fabricscope.api.wall.newest import KEPT_NS, parse_labels
from telemetry.samples import SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Gpu, Job, Topology

TENSOR, SM = "gpu_tensor_active_ratio", "gpu_sm_active_ratio"
_ROUND_NS = 10 * NS_PER_S
_KEPT = 360  # an hour of rounds
_NOW = 3  # rounds that are "now": a step or a short checkpoint is not a pace
_OLD = 6  # rounds for which a sample counts, and after which nothing is "now"
_USUAL_MIN = 6  # rounds before there is a usual level: as many as the detectors ask for
_GPUS_SHARE = 0.5  # of the job's GPUs must have fresh values
_WORK_MIN = 0.01  # a usual level below it is no work
_Gpu = tuple[str, str]  # device and UUID


@dataclass(frozen=True, slots=True)
class Pace:
    """Work as a share of what the GPUs could do: the mean activity of their tensor cores, or of their SMs.

    now: None where too few of its GPUs report. usual: the median of the last hour before now; None while it is learned.
    """

    now: float | None = None
    usual: float | None = None


class Paces:
    """The work of all running jobs. Targets may be read one after the other, as after a restart: a sample counts where
    it is in event time."""

    def __init__(self) -> None:
        self.gpus = KnownGpus((TENSOR, SM))
        self._targets: dict[str, _Target] = {}
        self._rounds: dict[str, _Rounds] = {}  # by job
        self._of: tuple[Topology, Sequence[Gpu]] | None = None
        self._jobs_of: dict[_Gpu, list[str]] = {}
        self._newest = 0

    def add(self, batch: SampleBatch, topology: Topology) -> None:
        """Takes in one collection."""
        self.gpus.add(batch)
        if not len(batch):
            return
        target = self._target(batch)
        if not target.gpus:
            return
        self._learn(topology)
        number = batch.collection.collected_ns // _ROUND_NS
        self._newest = max(self._newest, number)
        work: dict[tuple[str, int], list[float]] = {}
        for gpu, since, value in target.take(batch, number):
            for job in self._jobs_of.get(gpu, ()):
                work.setdefault((job, since), []).append(value)
        for (job, since), values in work.items():
            self._rounds[job].add(since, number, values)

    def of(self, job_id: str) -> Pace:
        """The round that has begun does not count yet."""
        rounds = self._rounds.get(job_id)
        if rounds is None:
            return Pace()
        work = rounds.until(self._newest)
        now, before = _known(work[-_OLD:])[-_NOW:], _known(work[:-_NOW])
        usual = float(np.median(before)) if before.size >= _USUAL_MIN else None
        return Pace(float(now.mean()) if now.size else None, usual if usual and usual >= _WORK_MIN else None)

    def _target(self, batch: SampleBatch) -> "_Target":
        name, at_ns = batch.table.target, batch.collection.collected_ns
        known = self._targets.get(name)
        if known is None or known.digest != batch.table.digest:
            kept = {name: one for name, one in self._targets.items() if one.collected_ns >= at_ns - KEPT_NS}
            known = kept[name] = _Target(batch.table, known)
            self._targets = kept
        known.collected_ns = at_ns
        return known

    def _learn(self, topology: Topology) -> None:
        """Whose GPUs they are now."""
        gpus = self.gpus.of(topology)
        if self._of is not None and self._of[0] is topology and self._of[1] is gpus:
            return
        self._of, self._jobs_of = (topology, gpus), {}
        rounds, self._rounds = self._rounds, {}
        for job, used in gpus_of(topology.entities(Job), gpus).items():
            self._rounds[job] = rounds.get(job) or _Rounds()
            self._rounds[job].gpus = len(used)
            for gpu in used:
                self._jobs_of.setdefault(gpu, []).append(job)


class _Target:
    """The GPUs of one target's series, and up to which round each has counted. A table that follows another one takes
    that over."""

    def __init__(self, table: SeriesTable, before: "_Target | None") -> None:
        self.digest, self.collected_ns = table.digest, 0
        rows: dict[_Gpu, dict[str, int]] = {}
        for row, key in enumerate(table.keys):
            if key.partition("{")[0] in (TENSOR, SM):
                metric, labels = parse_labels(key)
                rows.setdefault((labels.get("device", ""), labels.get("gpu", "")), {})[metric] = row
        self.gpus = [(gpu, of.get(TENSOR, -1), of.get(SM, -1)) for gpu, of in rows.items()]
        self._size = len(table) + 1
        self._counted: dict[_Gpu, int] = {}
        if before is not None:
            self._counted = {gpu: number for gpu, number in before._counted.items() if gpu in rows}

    def take(self, batch: SampleBatch, number: int) -> Iterator[tuple[_Gpu, int, float]]:
        """GPUs with a new value, and since which round it counts. Tensor cores count before SMs, which are also busy
        when they wait."""
        newest = np.full(self._size, np.nan)  # the last row is that of no series
        newest[batch.series] = batch.values
        for gpu, tensor, sm in self.gpus:
            counted = self._counted.get(gpu, number - 1)
            value = newest[sm] if np.isnan(newest[tensor]) else newest[tensor]
            if counted < number and not np.isnan(value):
                self._counted[gpu] = number
                yield gpu, max(counted + 1, number - _OLD + 1), float(value)


class _Rounds:
    """What the GPUs of a job did in each round of the last hour. gpus: how many it has."""

    def __init__(self) -> None:
        self.gpus = 0
        self._work, self._reported = np.zeros(_KEPT), np.zeros(_KEPT, np.int64)
        self._newest = 0

    def add(self, since: int, number: int, values: Sequence[float]) -> None:
        """Values of GPUs, each for the rounds from ``since`` to ``number``."""
        self._move_to(number)
        places = np.arange(max(since, self._newest - _KEPT + 1), number + 1) % _KEPT
        self._work[places] += sum(values)
        self._reported[places] += len(values)

    def until(self, number: int) -> NDArray[np.float64]:
        """float64[n], mean work in each round before ``number``, oldest first; NaN where too few GPUs reported."""
        self._move_to(number)
        places = np.arange(self._newest - _KEPT + 1, number) % _KEPT
        work, reported = self._work[places], self._reported[places]
        enough = (reported > 0) & (reported >= _GPUS_SHARE * self.gpus)
        return np.where(enough, work / np.maximum(reported, 1), np.nan)

    def _move_to(self, number: int) -> None:
        if number > self._newest:
            places = np.arange(max(self._newest + 1, number - _KEPT + 1), number + 1) % _KEPT
            self._work[places], self._reported[places], self._newest = 0.0, 0, number


def gpus_of(jobs: Iterable[Job], gpus: Iterable[Gpu]) -> Mapping[str, list[_Gpu]]:
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


def _known(work: NDArray[np.float64]) -> NDArray[np.float64]:
    return work[~np.isnan(work)]
