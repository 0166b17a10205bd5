"""The steps of the peer comparison for single members, by hand."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
