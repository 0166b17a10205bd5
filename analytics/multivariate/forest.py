"""An isolation forest as flat arrays: trained by scikit-learn, scored here.

Liu, Ting and Zhou, Isolation Forest, ICDM 2008: what few random cuts suffice to isolate is an anomaly.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analytics.jit import compiled

_TREES = 100
_SAMPLE = 256  # rows a tree sees: more only hides anomalies (Liu et al., section 4)


@dataclass(frozen=True)
class Forest:
    """All nodes of all trees, one tree behind the other.

    roots: int32[trees]; feature: int16[nodes], -1 for a leaf; threshold: float64[nodes], to the left when not above;
    left, right: int32[nodes]; length: float64[nodes], cuts to a leaf and those expected among the rows it holds.
    normal: float64[1], expected cuts for the number of rows that a tree saw.
    """

    roots: NDArray[np.int32]
    feature: NDArray[np.int16]
    threshold: NDArray[np.float64]
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    length: NDArray[np.float64]
    normal: NDArray[np.float64]

    @staticmethod
    def fit(vectors: NDArray[np.float64], seed: int) -> "Forest":
        """vectors: float64[rows, F] of healthy devices."""
        from sklearn.ensemble import IsolationForest  # slow to load, and only training needs it

        sample = min(_SAMPLE, len(vectors))
        return flatten(IsolationForest(n_estimators=_TREES, max_samples=sample, random_state=seed).fit(vectors))

    def score(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k], 0..1, larger is stranger: scikit-learn's ``-score_samples``."""
        scores = np.empty(len(vectors))
        _score(
            vectors.astype(np.float32),  # scikit-learn's trees compare such numbers
            self.roots,
            self.feature,
            self.threshold,
            self.left,
            self.right,
            self.length,
            self.normal[0],
            scores,
        )
        return scores

    def contributions(self, vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """float64[k, F]: how much the score falls when this input alone were at its normal, 0."""
        found = np.empty(vectors.shape)
        whole = self.score(vectors)
        for f in range(vectors.shape[1]):
            without = vectors.copy()
            without[:, f] = 0.0
            found[:, f] = whole - self.score(without)
        return found


def flatten(trained: Any) -> Forest:
    """A fitted ``sklearn.ensemble.IsolationForest`` that looks at all features in each tree."""
    parts: dict[str, list[NDArray[Any]]] = {n: [] for n in ("feature", "threshold", "left", "right", "length")}
    roots, start = [], 0
    for estimator in trained.estimators_:
        tree = estimator.tree_
        leaf = tree.children_left < 0
        parts["feature"].append(np.where(leaf, -1, tree.feature))
        parts["threshold"].append(np.where(leaf, 0.0, tree.threshold))
        parts["left"].append(np.where(leaf, 0, tree.children_left + start))
        parts["right"].append(np.where(leaf, 0, tree.children_right + start))
        parts["length"].append(_depths(tree) + _expected_cuts(tree.n_node_samples))
        roots.append(start)
        start += tree.node_count
    types = {"feature": np.int16, "threshold": np.float64, "left": np.int32, "right": np.int32, "length": np.float64}
    joined = {name: np.concatenate(part).astype(types[name]) for name, part in parts.items()}
    normal = _expected_cuts(np.array([trained.max_samples_]))
    return Forest(roots=np.array(roots, np.int32), normal=normal, **joined)


def _depths(tree: Any) -> NDArray[np.float64]:
    depths = np.zeros(tree.node_count)
    for node in range(tree.node_count):  # children stand behind their parents
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                depths[child] = depths[node] + 1.0
    return depths


def _expected_cuts(rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Mean path length of an unsuccessful search in a binary search tree of so many rows (Liu et al., equation 1)."""
    rows = rows.astype(np.float64)
    several = np.maximum(rows, 3.0)
    cuts = 2.0 * (np.log(several - 1.0) + np.euler_gamma) - 2.0 * (several - 1.0) / several
    return np.where(rows > 2, cuts, np.where(rows == 2, 1.0, 0.0))


@compiled
def _score(
    vectors: NDArray[np.float32],
    roots: NDArray[np.int32],
    feature: NDArray[np.int16],
    threshold: NDArray[np.float64],
    left: NDArray[np.int32],
    right: NDArray[np.int32],
    length: NDArray[np.float64],
    normal: float,
    scores: NDArray[np.float64],
) -> None:
    for i in range(scores.size):
        total = 0.0
        for root in roots:
            node = root
            while feature[node] >= 0:
                node = left[node] if vectors[i, feature[node]] <= threshold[node] else right[node]
            total += length[node]
        scores[i] = 2.0 ** (-total / (roots.size * normal))
