"""How often something new is known about the work of jobs."""

import numpy as np
from numpy.typing import NDArray

from analytics.models.group_medians import group_medians
from analytics.state.lookup import lookup
from analytics.view.tick_view import Column, TickView


def gpus_read_every_s(view: TickView, gpus: Column, jobs: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[n]: seconds between two values of the GPUs of each job, the median of them; 0 where that is not known.

    gpus: what is read of them; jobs: int64[n], positions in ``TopologyIndex.jobs``.
    """
    job = view.topology_index.job[gpus.objects]
    present, first = np.unique(job, return_index=True)
    every_s = group_medians(job, read_every_s(view, gpus))[first]
    return np.asarray(np.nan_to_num(np.append(every_s, np.nan)[lookup(present, jobs)]))


def read_every_s(view: TickView, column: Column) -> NDArray[np.float64]:
    """float64[k]: seconds between two values of each series that say something new."""
    return np.maximum(view.cadence_s[column.sids], view.target_refresh_s[column.targets])
