"""One score for a row of many columns."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

# Of the level of a row for each e-fold of its columns, and at most; chosen on labelled recordings of 19 columns.
_LOWER, _LOWER_MAX = 0.05, 0.4
_NAMED_MAX = 5


def row_score(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """float64[rows] of float64[columns, rows]: one less than the geometric mean of one plus each score; 1.0 alerts.

    Among many columns one at 1.0 is ordinary, and several at once are not. So one column makes a row alert only where
    its score is enormous. Columns that are correlated count as if they were not: the mean is not larger for them. The
    more columns, the more rarely their mean is high: the level is 5 % lower for each e-fold of their number.
    NaN: not known, and left out; 0 where nothing is known.
    """
    known = ~np.isnan(scores)
    columns = np.maximum(known.sum(axis=0), 1)
    logs = np.log1p(np.where(known, scores, 0.0))
    level = 1.0 - np.minimum(_LOWER * np.log(columns), _LOWER_MAX)
    return np.asarray(np.expm1(logs.sum(axis=0) / columns) / level)


def contributing(scores: NDArray[np.float64], names: Sequence[str]) -> str:
    """Names of the columns of one row that raise its score, as theirs are above its mean; the highest first, five at
    most. scores: float64[columns], NaN where not known.
    """
    known = np.nan_to_num(scores)
    mean = float(np.expm1(np.nanmean(np.log1p(scores))))
    above = [place for place in np.argsort(-known, kind="stable")[:_NAMED_MAX] if known[place] >= mean]
    return ", ".join(names[place] for place in above)
