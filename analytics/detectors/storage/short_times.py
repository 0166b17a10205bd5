"""Times that a hard disk needs too: which of them are slow depends on what is behind the operations.

No exporter says on which medium a target is. What takes longer than a hard disk needs is slow beside siblings that are
faster, whatever it is on. A shorter time is slow by what is usual there, and where somebody waits for it.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.levels import LEVEL, learned_level
from analytics.detectors.storage.operations import WAITING_MIN
from analytics.detectors.usual_heights import USUAL_HEIGHTS, unusual
from analytics.models.group_medians import group_medians
from analytics.snapshot.stateful import State
from analytics.state.memory import Memory
from analytics.view.tick_view import Column, TickView
from telemetry.limits import DISK_SECONDS

_BESIDE = "beside_siblings"
SHORT_TIMES = (LEVEL[0]._replace(name=_BESIDE), *USUAL_HEIGHTS)
# What /proc/diskstats and mountstats count in, and so the exporters that read them. Lustre's times come from the bins
# of brw_stats, of which the first one ends there.
_RESOLUTION_S = 1e-3
# Of the usual ratio, as against the own past: caches, sizes and queues change short times more than those of a disk.
_TIMES_USUAL = 5.0


class OperationTimes(NamedTuple):
    """Of k series. rate: float64[k], operations a second; bytes_per_s: what they moved; seconds: of one in the mean.

    groups: int64[k], of a file system and operation. siblings: float64[k], what one takes in the median of the group,
    NaN where too few are known. NaN in any of them: not known.
    """

    rate: NDArray[np.float64]
    bytes_per_s: NDArray[np.float64]
    seconds: NDArray[np.float64]
    groups: NDArray[np.int64]
    siblings: NDArray[np.float64]


def score_with_short_times(
    view: TickView,
    memory: Memory,
    column: Column,
    score: NDArray[np.float64],
    times: OperationTimes,
) -> NDArray[np.float64]:
    """The scores, below 1 for times that a hard disk needs too, unless they are unusual here and somebody waits.

    That is: beside its siblings a series takes five times as long as usual, as it does not now and then, and one
    operation more than at their pace is in progress at any moment. Requests that are larger may take longer in
    proportion. Without history nothing shows that it is no disk that seeks.

    memory: with the columns ``SHORT_TIMES``. score: float64[k], 1.0 is the limit for what is slower than its siblings.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        siblings = np.maximum(times.siblings, _RESOLUTION_S / (times.rate * view.config.interval_s))
        expected = siblings * _larger(times)
        beside = times.seconds / expected
        usual = learned_level(view, memory, column, beside, _BESIDE)
        by_usual = beside / (_TIMES_USUAL * np.maximum(usual, 1.0))
        waiting = (times.seconds - expected) * times.rate / WAITING_MIN
        short = np.minimum(np.minimum(score, by_usual), waiting)
    known = np.flatnonzero(~np.isnan(short))
    short[known], _ = unusual(view, memory, column.only(known), short[known])
    return np.fmax(np.minimum(score, times.seconds / DISK_SECONDS), short)


def without_short_times(state: State) -> State:
    """A state without these columns: they are learned again from the first sample on."""
    size = len(state.arrays["sid"])
    new = {name: np.zeros((size, width) if width > 1 else size, dtype) for name, width, dtype, _ in SHORT_TIMES}
    return State(state.head, {**state.arrays, **new})


def _larger(times: OperationTimes) -> NDArray[np.float64]:
    """float64[k], 1 or more: how many times as large as its siblings' the requests of each are, where that is known."""
    size = times.bytes_per_s / times.rate
    return np.fmax(size / np.fmax(group_medians(times.groups, size), 1.0), 1.0)
