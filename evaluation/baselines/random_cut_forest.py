"""Robust random cut forest over a sliding window: each point inserts one and deletes one."""

from typing import NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from common.jit import compiled
from evaluation.series.labelled import Series
from evaluation.series.signals import Floats

Ints = NDArray[np.int64]
_UP, _LEFT, _RIGHT, _COLUMN, _SIZE = range(5)
_NONE = -1


class Tree(NamedTuple):
    """Tables with a row a node; k columns of points. Leaves hold equal points.

    links: int64[nodes, 5], parent, children, the cut column, and the number of points below.
    cuts:  float64[nodes]; points whose value in that column is at most the cut are on the left.
    boxes: float64[nodes, 2 k], minimum and maximum of each column below.
    free:  int64[nodes + 1], the number of free nodes, then these.
    """

    links: Ints
    cuts: Floats
    boxes: Floats
    free: Ints


def random_cut_forest(series: Series, trees: int = 40, points: int = 256, shingle: int = 4) -> Floats:
    """Collusive displacement of the last ``shingle`` values among the last ``points`` such, mean of ``trees`` trees.

    Source: Guha et al. (2016), Robust random cut forest based anomaly detection on streams. All trees hold the last
    points instead of samples, as in the streaming example of rrcf (Bartos et al., 2019).
    """
    scores = np.zeros(series.values.size)
    rows = np.ascontiguousarray(sliding_window_view(series.values, shingle))
    for tree in range(trees):
        scores[shingle - 1 :] += _displacements(rows, points, tree)
    return scores / trees


@compiled
def _displacements(rows: Floats, points: int, seed: int) -> Floats:
    """float64[n]: the collusive displacement of each row when it is inserted, in one tree."""
    np.random.seed(seed)
    links, cuts = np.full((2 * points, 5), _NONE, np.int64), np.zeros(2 * points)
    tree = Tree(links, cuts, np.zeros((2 * points, 2 * rows.shape[1])), np.arange(2 * points, -1, -1))
    tree.free[0] = 2 * points
    leaves = np.zeros(points, np.int64)
    scores, root = np.zeros(rows.shape[0]), _NONE
    for i in range(rows.shape[0]):
        if i >= points:
            root = _delete(leaves[i % points], root, tree)
        root, leaves[i % points] = _insert(rows[i], root, tree)
        scores[i] = _displacement(leaves[i % points], tree.links)
    return scores


@compiled
def _insert(row: Floats, root: int, tree: Tree) -> tuple[int, int]:
    """Root and leaf of ``row``: down from the root until a random cut of the box with ``row`` separates both."""
    links, cuts, boxes = tree.links, tree.cuts, tree.boxes
    if root == _NONE:
        leaf = _leaf(row, tree)
        return leaf, leaf
    node, width = root, row.size
    while True:
        box = boxes[node]
        total = 0.0
        for k in range(width):
            total += max(box[width + k], row[k]) - min(box[k], row[k])
        if total == 0.0:
            links[node, _SIZE] += 1
            return root, node
        at = np.random.random() * total
        column = 0
        while column < width - 1 and at >= max(box[width + column], row[column]) - min(box[column], row[column]):
            at -= max(box[width + column], row[column]) - min(box[column], row[column])
            column += 1
        cut = min(box[column], row[column]) + at
        if row[column] <= cut < box[column] or box[width + column] <= cut < row[column]:
            leaf = _leaf(row, tree)
            branch = _branch(leaf, node, column, cut, row[column] <= cut, tree)
            return branch if node == root else root, leaf
        if links[node, _LEFT] != _NONE:
            links[node, _SIZE] += 1
            for k in range(width):
                box[k], box[width + k] = min(box[k], row[k]), max(box[width + k], row[k])
            node = links[node, _LEFT if row[links[node, _COLUMN]] <= cuts[node] else _RIGHT]


@compiled
def _leaf(row: Floats, tree: Tree) -> int:
    links, boxes, free = tree.links, tree.boxes, tree.free
    leaf = free[free[0]]
    free[0] -= 1
    links[leaf] = _NONE
    links[leaf, _SIZE] = 1
    boxes[leaf, : row.size] = row
    boxes[leaf, row.size :] = row
    return int(leaf)


@compiled
def _branch(leaf: int, node: int, column: int, cut: float, left: bool, tree: Tree) -> int:
    """A new node in place of ``node``, with ``node`` and ``leaf`` as children. left: ``leaf`` is on the left."""
    links, free = tree.links, tree.free
    branch = free[free[0]]
    free[0] -= 1
    up = links[node, _UP]
    _replace(node, branch, up, links)
    links[branch, _LEFT], links[branch, _RIGHT] = (leaf, node) if left else (node, leaf)
    links[branch, _COLUMN], links[branch, _SIZE] = column, links[node, _SIZE] + 1
    links[leaf, _UP] = links[node, _UP] = branch
    tree.cuts[branch] = cut
    _update_box(branch, links, tree.boxes)
    return int(branch)


@compiled
def _replace(node: int, by: int, up: int, links: Ints) -> None:
    """Makes ``by`` the child of ``up`` in place of ``node``."""
    links[by, _UP] = up
    if up != _NONE:
        links[up, _LEFT if links[up, _LEFT] == node else _RIGHT] = by


@compiled
def _update_box(branch: int, links: Ints, boxes: Floats) -> bool:
    """Sets the box of ``branch`` to that of both children; whether it changed."""
    left, right, width = boxes[links[branch, _LEFT]], boxes[links[branch, _RIGHT]], boxes.shape[1] // 2
    changed = False
    for k in range(width):
        low, high = min(left[k], right[k]), max(left[width + k], right[width + k])
        changed = changed or low != boxes[branch, k] or high != boxes[branch, width + k]
        boxes[branch, k], boxes[branch, width + k] = low, high
    return changed


@compiled
def _delete(leaf: int, root: int, tree: Tree) -> int:
    """Deletes one point of ``leaf``; returns the root."""
    links, boxes, free = tree.links, tree.boxes, tree.free
    node = leaf
    if links[leaf, _SIZE] == 1:
        above = links[leaf, _UP]
        if above == _NONE:
            free[0] += 1
            free[free[0]] = leaf
            return _NONE
        sibling = links[above, _LEFT] + links[above, _RIGHT] - leaf
        node = links[above, _UP]
        _replace(above, sibling, node, links)
        free[free[0] + 1], free[free[0] + 2] = leaf, above
        free[0] += 2
        if node == _NONE:
            return int(sibling)
    changed = node != leaf
    while node != _NONE:
        links[node, _SIZE] -= 1
        changed = changed and _update_box(node, links, boxes)
        node = links[node, _UP]
    return root


@compiled
def _displacement(leaf: int, links: Ints) -> float:
    """The largest ratio, over all ancestors, of the points in the sibling to the points on the side of ``leaf``."""
    largest, node = 0.0, leaf
    while links[node, _UP] != _NONE:
        above = links[node, _UP]
        largest = max(largest, links[above, _SIZE] / links[node, _SIZE] - 1.0)
        node = above
    return largest
