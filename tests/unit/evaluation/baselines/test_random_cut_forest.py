"""The random cut tree: its structure after every insertion and deletion, and displacements by hand."""

import numpy as np
import pytest

from common.jit import compiled
from evaluation.baselines.random_cut_forest import (
    Tree,
    _delete,
    _displacement,
    _insert,
    random_cut_forest,
)
from evaluation.series.labelled import Series

UP, LEFT, RIGHT, COLUMN, SIZE = range(5)


@compiled
def seed(number: int) -> None:
    """Numba has a generator of its own."""
    np.random.seed(number)


def empty(points: int, width: int) -> Tree:
    links = np.full((2 * points, 5), -1, np.int64)
    free = np.arange(2 * points, -1, -1)
    free[0] = 2 * points
    return Tree(links, np.zeros(2 * points), np.zeros((2 * points, 2 * width)), free)


def points_below(tree: Tree, node: int) -> list[tuple[float, ...]]:
    """The points below ``node``; checks sizes, boxes, cuts and parents on the way."""
    links, width = tree.links, tree.boxes.shape[1] // 2
    low, high = tree.boxes[node, :width], tree.boxes[node, width:]
    if links[node, LEFT] == -1:
        assert np.array_equal(low, high)
        return [tuple(low.tolist())] * int(links[node, SIZE])
    sides = [points_below(tree, int(links[node, side])) for side in (LEFT, RIGHT)]
    assert {int(links[links[node, side], UP]) for side in (LEFT, RIGHT)} == {node}
    column, cut = links[node, COLUMN], tree.cuts[node]
    assert max(point[column] for point in sides[0]) <= cut < min(point[column] for point in sides[1])
    found = sides[0] + sides[1]
    assert len(found) == links[node, SIZE]
    assert (np.min(found, axis=0).tolist(), np.max(found, axis=0).tolist()) == (low.tolist(), high.tolist())
    return found


@pytest.mark.parametrize("width", [1, 3])
def test_the_tree_holds_what_was_inserted_and_not_deleted(width: int) -> None:
    seed(width)
    rng = np.random.default_rng(width)
    rows = rng.integers(0, 4, (200, width)).astype(np.float64)  # many are equal
    tree, root = empty(50, width), -1
    held: list[tuple[int, tuple[float, ...]]] = []  # leaf and point
    for row in rows:
        if len(held) == 50:
            leaf, _ = held.pop(int(rng.integers(50)))
            root = _delete(leaf, root, tree)
        root, leaf = _insert(row, root, tree)
        held.append((leaf, tuple(row.tolist())))
        assert sorted(points_below(tree, root)) == sorted(point for _, point in held)
        assert tree.links[root, UP] == -1
    while held:
        leaf, _ = held.pop()
        root = _delete(leaf, root, tree)
    assert root == -1
    assert tree.free[0] == 100, "all nodes are free again"


def test_a_displacement_is_the_largest_ratio_of_siblings_on_the_way_up() -> None:
    # Node 0 has 9 points: 3 of node 1, which are 1 of leaf 2 and 2 of leaf 3, and 6 of leaf 4.
    links = np.full((5, 5), -1, np.int64)
    links[:, UP] = [-1, 0, 1, 1, 0]
    links[:, SIZE] = [9, 3, 1, 2, 6]
    assert [_displacement(leaf, links) for leaf in (2, 3, 4, 0)] == [2.0, 2.0, 0.5, 0.0]
    links[[0, 4], SIZE] = 18, 15
    assert [_displacement(leaf, links) for leaf in (2, 3, 4)] == pytest.approx([5.0, 5.0, 0.2])


def test_a_cut_is_uniform_over_the_sides_of_the_box() -> None:
    below = 0
    for number in range(2000):
        seed(number)
        tree = empty(4, 2)
        root, _ = _insert(np.array([0.0, 0.0]), -1, tree)
        root, _ = _insert(np.array([3.0, 1.0]), root, tree)
        below += int(tree.links[root, COLUMN] == 0)
    assert below / 2000 == pytest.approx(3 / 4, abs=0.03)


def test_an_outlier_displaces_almost_all_points() -> None:
    values = np.zeros(300)
    values[::2] = 1.0
    values[250] = 1000.0
    times_ns = np.arange(300, dtype=np.int64)
    found = random_cut_forest(Series("test", 0, times_ns, values, (), 50), trees=10, points=100, shingle=1)
    assert found[250] > 90
    assert found[100:250].max() < 3
