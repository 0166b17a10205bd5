"""What a job loses whose GPU cannot use its NVLinks any more: what it exchanges with its neighbours crosses PCIe."""

import numpy as np
from numpy.typing import NDArray

from analytics.detectors.spec import EvidenceColumns, computed_evidence
from analytics.models.expected_share import EXPECTED_SHARE
from analytics.state.lookup import lookup, worst_of_each
from analytics.view.tick_view import Column, TickView
from telemetry.series import series_key

NVLINK_ERROR = 74  # NVIDIA's XID
_METRIC, _BUSY = "gpu_nvlink_bytes_per_second", "gpu_utilization_ratio"
_PCIE_BYTES_PER_S = 63e9  # PCIe 5.0, 16 lanes of 32 GT/s, 128b/130b
_GONE_SHARE = 0.1  # of what it usually exchanges: less crosses NVLink no more
_BUSY_MIN = 0.5  # of the time with kernels: who has none exchanges nothing by itself
_LEAST = 0.1  # of the time of its job: less is hidden by what is computed meanwhile (assumption)


def expected_share(view: TickView, objects: NDArray[np.int64], xids: NDArray[np.float64]) -> EvidenceColumns:
    """Evidence: the part of its time that a job loses whose GPU has NVLinks that carry next to nothing since XID 74.

    objects: int64[k], of GPUs, with their newest XIDs. What they exchanged in a second takes usual / PCIe seconds more.
    """
    links, busy = view.column(_METRIC), view.column(_BUSY)
    links = links.only(links.fresh)
    now, usual = _most(links, objects, links.values), _most(links, objects, links.level)
    works = busy.only(busy.fresh).about(objects) >= _BUSY_MIN
    longer = usual / _PCIE_BYTES_PER_S
    jobs = view.topology_index.job[objects]
    gone = (xids == NVLINK_ERROR) & works & (now < _GONE_SHARE * usual) & (jobs >= 0)
    share = np.where(gone & (longer >= _LEAST), longer / (1.0 + longer), np.nan)

    def label(row: int) -> str:
        return series_key(EXPECTED_SHARE, {"job_id": view.topology_index.jobs[jobs[row]].job_id})

    return computed_evidence(share, np.nan, "ratio", label)


def _most(links: Column, objects: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The larger of both directions about each of ``objects``, NaN where neither is known."""
    rows = worst_of_each(links.objects, np.nan_to_num(values, nan=-1.0))
    return np.append(values[rows], np.nan)[lookup(links.objects[rows], objects)]
