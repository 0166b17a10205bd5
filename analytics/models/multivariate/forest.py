"""An isolation forest as flat arrays: trained by scikit-learn, scored here.

Liu, Ting and Zhou, Isolation Forest, ICDM 2008: what few random cuts suffice to isolate is an anomaly.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from common.jit import compiled

_TREES = 100
_BLOCK = 256  # vectors that go through one tree before the next: both stay in the processor's cache
_SAMPLE = 256  # rows a tree sees: more only hides anomalies (Liu et al., section 4)


@dataclass(frozen=True)
class Forest:
    """All nodes of all trees, one tree behind the other. A leaf leads to itself, so every way has the same length.

    roots: uint32[trees]; feature: uint32[nodes]; threshold: float64[nodes], infinite for a leaf.
    child: uint32[2 * nodes], where to go from each node when the feature is not above the threshold, and when it is.
    length: float64[nodes], of a leaf the cuts that led to it and those expected among the rows it holds.
    depth: int32[1], of the deepest tree. normal: float64[1], expected cuts for as many rows as a tree saw.
    """

    roots: NDArray[np.uint32]
    feature: NDArray[np.uint32]
    threshold: NDArray[np.float64]
    child: NDArray[np.uint32]
    length: NDArray[np.float64]
    depth: NDArray[np.int32]
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
        narrow = vectors.astype(np.float32)  # scikit-learn's trees compare such numbers
        nodes = _Nodes(self.roots, self.feature, self.threshold, self.child, self.length)
        _score(narrow, nodes, self.depth[0], self.normal[0], scores)
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
    trees = [estimator.tree_ for estimator in trained.estimators_]
    starts = np.cumsum([0, *(tree.node_count for tree in trees)])
    depths = [_depths(tree) for tree in trees]
    leaf = np.concatenate([tree.children_left < 0 for tree in trees])
    child = np.concatenate(
        [np.stack([tree.children_left, tree.children_right], 1) + at for tree, at in zip(trees, starts, strict=False)]
    )
    child[leaf] = np.flatnonzero(leaf)[:, None]
    return Forest(
        roots=starts[:-1].astype(np.uint32),
        feature=np.where(leaf, 0, np.concatenate([tree.feature for tree in trees])).astype(np.uint32),
        threshold=np.where(leaf, np.inf, np.concatenate([tree.threshold for tree in trees])),
        child=child.ravel().astype(np.uint32),
        length=np.concatenate(depths) + _expected_cuts(np.concatenate([tree.n_node_samples for tree in trees])),
        depth=np.array([max(each.max() for each in depths)], np.int32),
        normal=_expected_cuts(np.array([trained.max_samples_])),
    )


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


class _Nodes(NamedTuple):
    """As in ``Forest``."""

    roots: NDArray[np.uint32]
    feature: NDArray[np.uint32]
    threshold: NDArray[np.float64]
    child: NDArray[np.uint32]
    length: NDArray[np.float64]


@compiled
def _score(vectors: NDArray[np.float32], nodes: _Nodes, depth: int, normal: float, scores: NDArray[np.float64]) -> None:
    """Without a branch that depends on the values: a wrong guess would cost more than the steps past a leaf."""
    roots, feature, threshold, child, length = nodes
    for first in range(0, scores.size, _BLOCK):
        last = min(first + _BLOCK, scores.size)
        scores[first:last] = 0.0
        for tree in range(roots.size):
            for i in range(first, last):
                node = roots[tree]
                for _ in range(depth):
                    above = vectors[i, feature[node]] > threshold[node]
                    node = child[np.uint32(2) * node + np.uint32(above)]
                scores[i] += length[node]
    for i in range(scores.size):
        scores[i] = 2.0 ** (-scores[i] / (roots.size * normal))
