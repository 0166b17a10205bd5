"""The cheaper model: one ellipse around the healthy vectors, and the distance from their median (Mahalanobis)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Added to every variance: the first change of an input that was constant during training must not be an anomaly.
_RIDGE = 0.05


@dataclass(frozen=True)
class Ellipse:
    """median: float64[F]; precision: float64[F, F], the inverse of the covariance."""

    median: NDArray[np.float64]
    precision: NDArray[np.float64]

    @staticmethod
    def fit(vectors: NDArray[np.float64], seed: int) -> "Ellipse":
        """vectors: float64[rows, F]. Covariance shrunk as by Ledoit and Wolf (2004); nothing here is random."""
        from sklearn.covariance import LedoitWolf  # slow to load, and only training needs it

        fitted = LedoitWolf(store_precision=False).fit(vectors)
        precision = np.linalg.inv(fitted.covariance_ + _RIDGE * np.eye(vectors.shape[1]))
        # Without the last digits, in which numerical libraries differ.
        return Ellipse(_rounded(np.median(vectors, axis=0)), _rounded((precision + precision.T) / 2))

    def score(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k]: distance over the square root of the number of inputs; about 1 for a healthy device."""
        distance = np.maximum(self.contributions(vectors).sum(axis=1), 0.0)
        return np.asarray(np.sqrt(distance / self.median.size))

    def contributions(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k, F]: each input's part of the squared distance."""
        offsets = vectors - self.median
        return np.asarray(offsets * np.einsum("kf,fg->kg", offsets, self.precision))


def _rounded(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.astype(np.float32).astype(np.float64)
