"""How much memory the GPUs of a device had in use when they were last heard of: whether somebody used it then.

A process keeps its memory while it waits, reads data or writes a checkpoint, when no kernel runs.
"""

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import EvidenceColumns
from analytics.view.tick_view import TickView
from telemetry.series import series_key

METRIC = "gpu_memory_used_bytes"
EVIDENCE = "busiest_gpu_memory"


def last_memory(view: TickView, devices: NDArray[np.int64]) -> EvidenceColumns:
    """The most that any GPU of each device had in use, however long ago; NaN without any.

    devices: int64[n], object numbers.
    """
    memory, of = view.column(METRIC), view.index.device_objects
    most = np.full(len(view.index.objects), -1.0)
    known = ~np.isnan(memory.values)
    np.maximum.at(most, of[memory.targets[known]], memory.values[known])
    values = np.where(most[devices] < 0.0, np.nan, most[devices])

    def busiest(row: int) -> str:
        return series_key(EVIDENCE, {"device": view.index.object_ref(int(devices[row])).name})

    return EvidenceColumns(np.full(devices.size, -1), values, np.full(devices.size, np.nan), "bytes", busiest)
