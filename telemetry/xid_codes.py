"""Which XIDs blame the GPU, and which the program that ran on it."""

import numpy as np
from numpy.typing import NDArray

# NVIDIA, "XID Errors" (deploy docs, r555 and later): the class decides how likely the GPU itself is at fault.
_HARDWARE = (48, 62, 63, 64, 74, 79, 92, 94, 95, 110, 119, 120, 136, 140, 143)  # ECC, row remap, NVLink, bus, GSP
# Those for which NVIDIA's device plugin for Kubernetes leaves a GPU in use ("application errors: the GPU should still
# be healthy", internal/rm/health.go): 13 graphics engine exception, 31 memory page fault, 43 stopped processing, 45
# cleanup after an error, 68 video processor exception, 109 context switch timeout. 69, graphics engine class error, is
# the driver's other name for 13, which its XID catalogue answers in the same way: restart the application.
_APPLICATION = (13, 31, 43, 45, 68, 69, 109)
# The driver stopped a process that had work on the GPU: it says nothing of this GPU, as all of a job get it.
CLEANUP = 45


def classify(code: int) -> str:
    """
    >>> classify(79), classify(31), classify(8)
    ('hardware', 'application', 'other')
    """
    return "hardware" if code in _HARDWARE else "application" if code in _APPLICATION else "other"


def is_application(codes: NDArray[np.float64]) -> NDArray[np.bool_]:
    """bool[n]: whether the program is to blame."""
    return np.isin(codes, _APPLICATION)
