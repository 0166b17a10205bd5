"""One score for a row of many columns."""

import numpy as np
from numpy.typing import NDArray


def row_score(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[rows] of float64[columns, rows]: one less than the geometric mean of one plus each score; 1.0 alerts.

    One column alone alerts when the others are usual only where its score is enormous: of 19 columns, one at 1.0
    somewhere is ordinary, and several at once are not. The mean needs no correction for the number of columns, nor for
    their correlation: columns that move together count as much as one that is alone. NaN: not known, and left out; 0
    where nothing is known.
    """
    known = ~np.isnan(scores)
    logs = np.log1p(np.where(known, scores, 0.0))
    return np.asarray(np.expm1(logs.sum(axis=0) / np.maximum(known.sum(axis=0), 1)))
