"""Which GPUs the power limit held: their clocks say what their kernels draw, not how fast the others are."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from analytics.view.tick_view import TickView

SECONDS, ACTIVE = "gpu_throttle_seconds_total", "gpu_throttle_active"
# A cap in a hundredth of the time lowers the mean clock by less than clocks of healthy GPUs differ. A recorded H100 at
# its default limit is capped all the time in training, and shows 1.6 GHz in a kernel and 1.98 GHz while it waits.
_SHARE_MAX = 0.01


def _by_power(labels: Mapping[str, str]) -> bool:
    return labels.get("reason") in ("power", "sw_power_cap", "board_limit")


def power_capped(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.bool_]:
    """bool[k]: whether the power limit lowered the clock of each GPU in its newest interval, or does now.

    False for GPUs that do not report it.
    """
    capped = np.zeros(objects.size, bool)
    for metric, most in ((SECONDS, _SHARE_MAX), (ACTIVE, 0.0)):
        column = view.column(metric, _by_power)
        above = column.only(column.fresh & (column.values > most))
        capped |= np.isin(objects, above.objects)
    return capped
