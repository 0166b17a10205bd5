"""Which GPUs are at work in a job, and so are peers of each other."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.view import View

_WORKING = 0.5  # utilisation below which a GPU is idle, starting or ending, and is no peer
_SAMPLES_MIN = 2  # in a row: clocks rise and fall with a job's start and end, a little before or after utilisation
_SEEN_S, _SAMPLES = 1, 2  # what the memory of each utilisation series holds
_SETTLE_INTERVALS = 2.0  # of a job that has just started


def working_jobs(view: View) -> NDArray[np.int64]:
    """int64[objects]: job of each GPU that has worked in its last collections in a job that has settled; else -1."""
    busy = view.column("gpu_utilization_ratio")
    memory = view.series["memory"][busy.sids]
    seen_s = busy.times_ns * 1e-9
    new = busy.fresh & (seen_s > memory[:, _SEEN_S])
    worked = np.where(busy.values >= _WORKING, memory[:, _SAMPLES] + 1.0, 0.0)
    memory[new, _SEEN_S], memory[new, _SAMPLES] = seen_s[new], worked[new]
    view.series["memory"][busy.sids] = memory
    works = np.zeros(view.places.job.size, bool)
    works[busy.objects] = memory[:, _SAMPLES] >= _SAMPLES_MIN
    settled_ns = view.end_ns - round(_SETTLE_INTERVALS * view.config.interval_ns)
    young = [position for position, job in enumerate(view.places.jobs) if job.started_ns > settled_ns]
    return np.where(works & ~np.isin(view.places.job, young), view.places.job, -1)
