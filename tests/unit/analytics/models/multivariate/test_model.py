"""Models go into snapshots as plain arrays with a version and a checksum, and come out the same."""

import numpy as np
import pytest
from numpy.typing import NDArray

from analytics.detectors.multivariate.history import ROWS_MAX, History
from analytics.models.multivariate.model import Method, Model, train
from analytics.snapshot.stateful import State
from common.errors import BadInput

METHODS: tuple[Method, ...] = ("ellipse", "forest")
both = pytest.mark.parametrize("method", METHODS)


def healthy() -> NDArray[np.float32]:
    return np.random.default_rng(1).normal(size=(600, 5)).astype(np.float32)


@both
def test_a_restored_model_scores_the_same_bytes(method: Method) -> None:
    model = train(method, healthy(), 17)
    restored = Model.restored(model.state())
    vectors = np.random.default_rng(2).normal(size=(100, 5))
    assert restored.trained_ns == 17
    assert restored.score(vectors).tobytes() == model.score(vectors).tobytes()


@both
def test_arrays_hold_numbers_and_no_objects(method: Method) -> None:
    _, arrays = train(method, healthy(), 0).state()
    assert {array.dtype.kind for array in arrays.values()} <= {"f", "i", "u"}


@both
def test_a_changed_array_is_noticed(method: Method) -> None:
    head, arrays = train(method, healthy(), 0).state()
    name = sorted(arrays)[0]
    changed = {**arrays, name: arrays[name].copy()}
    changed[name].flat[0] += 1
    with pytest.raises(BadInput, match="checksum"):
        Model.restored(State(head, changed))


def test_a_model_of_another_version_is_refused() -> None:
    head, arrays = train("ellipse", healthy(), 0).state()
    with pytest.raises(BadInput, match="version"):
        Model.restored(State({**head, "version": 99}, arrays))


@both
def test_what_it_learned_from_is_healthy_and_what_is_far_from_it_is_not(method: Method) -> None:
    model = train(method, healthy(), 0)
    assert (model.score(healthy().astype(np.float64)) >= 1.0).mean() <= 0.001
    assert model.score(np.full((1, 5), 6.0))[0] >= 1.0


def test_history_keeps_the_newest_vectors_in_order() -> None:
    history = History(1)
    for start in range(0, ROWS_MAX + 700, 100):
        history.add(np.arange(start, start + 100, dtype=float)[:, None], start + 1)
    kept = history.vectors()[:, 0]
    assert history.size == len(kept) == ROWS_MAX
    assert history.since_ns == 1
    assert kept[-1] == start + 99
    assert (np.diff(kept) == 1.0).all()


def test_restored_history_goes_on_as_the_one_it_was() -> None:
    first, second = History(2), History(2)
    vectors = np.random.default_rng(1).normal(size=(ROWS_MAX + 10, 2))
    first.add(vectors, 3)
    second.restore(first.state())
    for history in (first, second):
        history.add(vectors[:5], 9)
    assert first.vectors().tobytes() == second.vectors().tobytes()
    assert first.state()[0] == second.state()[0]
