"""Which GPUs the power limit held: their clocks say what their kernels draw, not how fast the others are."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analytics.models.group_medians import group_medians
from analytics.state.lookup import worst_of_each
from analytics.view.tick_view import TickView

SECONDS, ACTIVE = "gpu_throttle_seconds_total", "gpu_throttle_active"
# A cap in a hundredth of the time lowers the mean clock by less than clocks of healthy GPUs differ. A recorded H100 at
# its default limit is capped all the time in training, and shows 1.6 GHz in a kernel and 1.98 GHz while it waits.
_SHARE_MAX = 0.01
_AS_OTHERS = 0.5  # kernels of one job differ by less than that in what they draw (assumption)


def _by_power(labels: Mapping[str, str]) -> bool:
    return labels.get("reason") in ("power", "sw_power_cap", "board_limit")


def power_capped(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether the power limit lowered the clock of each GPU in its newest interval, or does now.

    False for GPUs that do not report it.
    """
    return capped_share(view, objects) > _SHARE_MAX


def capped_share(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[k]: share of its newest interval in which the power limit lowered the clock of each GPU; 1 where it only
    says that it does now. 0 for GPUs that do not report it."""
    share = np.zeros(objects.size)
    for metric in (SECONDS, ACTIVE):
        column = view.column(metric, _by_power)
        column = column.only(column.fresh)
        column = column.only(worst_of_each(column.objects, column.values))
        share = np.fmax(share, np.minimum(column.about(objects), 1.0))
    return share


def explains_longer_work(view: TickView, objects: NDArray[np.int64], groups: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether its own power limit is why a GPU takes longer for the same work: it held the clock for half of
    the time, at least, that it held those of the others of its job. A clock that is stuck leaves power to spare.

    groups: int64[k], job of each.
    """
    share = capped_share(view, objects)
    return (share > _SHARE_MAX) & (share >= _AS_OTHERS * group_medians(groups, share))
