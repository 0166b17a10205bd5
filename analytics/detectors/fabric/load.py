"""What ports carry. One whose job waits for something else is neither paused nor loses frames, broken or not."""

import numpy as np
from numpy.typing import NDArray

from analytics.state.lookup import lookup
from analytics.view.tick_view import Column, TickView

SENT = ("fabric_port_transmit_bytes_total", "ib_port_transmit_bytes_total")
RECEIVED = ("fabric_port_receive_bytes_total", "ib_port_receive_bytes_total")


def carried(view: TickView, metrics: tuple[str, ...]) -> Column:
    """Bytes a second of switch ports and adapters, in one direction: ``SENT`` or ``RECEIVED``."""
    return view.joined([view.column(metric) for metric in metrics])


def usually_carried(view: TickView, objects: NDArray[np.int64]) -> NDArray[np.float64]:
    """float64[k]: bytes a second that ports usually carry in the direction in which it is more; NaN while unknown.

    objects: int64[k], their object numbers.
    """
    directions = [carried(view, metrics) for metrics in (SENT, RECEIVED)]
    levels = [np.append(load.level, np.nan)[lookup(load.objects, objects)] for load in directions]
    found: NDArray[np.float64] = np.fmax(*levels)
    return found
