"""The cheaper model: one ellipse around the healthy vectors, and the distance from its middle (Mahalanobis)."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

# Added to every variance: an input that never moved while learning must not make an alarm out of its first step.
_RIDGE = 0.05


@dataclass(frozen=True)
class Ellipse:
    """middle: float64[F]; precision: float64[F, F], the inverse of the covariance."""

    middle: NDArray[np.float64]
    precision: NDArray[np.float64]

    @staticmethod
    def fit(vectors: NDArray[np.float64], seed: int) -> "Ellipse":
        """vectors: float64[rows, F]. Covariance shrunk as by Ledoit and Wolf (2004); nothing here is random."""
        from sklearn.covariance import LedoitWolf  # slow to load, and only training needs it

        fitted = LedoitWolf(store_precision=False).fit(vectors)
        precision = np.linalg.inv(fitted.covariance_ + _RIDGE * np.eye(vectors.shape[1]))
        # Fewer digits than the last ones, in which numerical libraries differ.
        return Ellipse(_short(np.median(vectors, axis=0)), _short((precision + precision.T) / 2))

    def score(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k]: distance over the root of the number of inputs; about 1 for a healthy device."""
        distance = np.maximum(self.contributions(vectors).sum(axis=1), 0.0)
        return np.asarray(np.sqrt(distance / self.middle.size))

    def contributions(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k, F]: each input's part of the squared distance; they add up to it."""
        away = vectors - self.middle
        return np.asarray(away * np.einsum("kf,fg->kg", away, self.precision))


def _short(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values.astype(np.float32).astype(np.float64)
