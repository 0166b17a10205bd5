"""What several detectors need and the parts in ``analytics/derived`` compute before they run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from analytics.models.jobs.job_work import JobWork


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
class Derived:
    """jobs: the work of each running job, by its id. working_job: int64[objects], see ``working_gpus.py``."""

    jobs: Mapping[str, JobWork] = field(default_factory=dict)
    working_job: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    forecasts: Forecasts = field(default_factory=Forecasts)
