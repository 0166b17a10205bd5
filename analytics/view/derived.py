"""What several detectors need and the parts in ``analytics/derived`` compute before they run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.models.jobs.job_work import JobWork
from analytics.models.jobs.sending import Sending


@dataclass(frozen=True)
class Forecasts:
    """Newest forecasts of all series that have a limit, k rows; empty in ticks without new ones.

    limited: int64[k], position in ``trend.limits.LIMITS``. sids: int64[k], the series. names: their keys.
    values: float64[k, forecast.COLUMNS]. limits: float64[k].
    """

    limited: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    sids: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    names: Sequence[str] = ()
    values: NDArray[np.float64] = field(default_factory=lambda: np.zeros((0, 0)))
    limits: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))


@dataclass(frozen=True)
class WorkClasses:
    """What was shown about the GPUs of each job, see ``work_classes.py``.

    By position in ``TopologyIndex.jobs``: classes: int64[jobs], ``WorkClass``; coherence: float64[jobs], between the
    GPUs of a host, median of its hosts, NaN while unknown; across: float64[jobs], the same between its hosts;
    differs: float64[jobs], standard deviation of the activity of the GPUs of a host, each against its own level and as
    a part of it, without the one that is farthest off, median of its hosts, NaN while unknown;
    inherited: bool[jobs], whether an earlier job of the same user and name has shown it.
    By object: lockstep_job: int64[objects], job of each GPU whose job was shown to work in lockstep, else -1.
    lead: float64[objects], by how much more than usual a GPU is ahead of the others of its job on its host, in the last
    samples and as a part of its activity; NaN while that is unknown. paused: bool[objects], whether a GPU had a pause
    in its newest interval, see ``working_gpus.py``.
    """

    classes: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    coherence: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    across: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    differs: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    inherited: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))
    lockstep_job: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    lead: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    paused: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))


@dataclass(frozen=True)
class Derived:
    """jobs: the work of each running job, by its id. working_job: int64[objects], see ``working_gpus.py``.

    traffic: what each running job sends, by its id, where that is known. holding_up: file systems of which a target
    has been found to be slow, or a server gone, as of the tick before.
    """

    jobs: Mapping[str, JobWork] = field(default_factory=dict)
    working_job: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    classes: WorkClasses = field(default_factory=WorkClasses)
    forecasts: Forecasts = field(default_factory=Forecasts)
    traffic: Mapping[str, Sending] = field(default_factory=dict)
    holding_up: frozenset[str] = frozenset()
