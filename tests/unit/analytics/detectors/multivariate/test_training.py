"""The moments of training and of a model's first use, in event time: intervals of 10 s, every 600 s, after 300 s."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from analytics.detectors.multivariate.history import History
from analytics.detectors.multivariate.training import ROWS_MIN, Training
from analytics.models.multivariate.config import MultivariateConfig

SECOND = 10**9
CONFIG = MultivariateConfig(train_every_s=600.0, learn_s=300.0)


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


def filled(rows: int, since_s: int = 1) -> History:
    history = History(4)
    history.add(np.random.default_rng(1).normal(size=(rows, 4)), since_s * SECOND)
    return history


def trained_at(training: Training, history: History, *times_s: int) -> list[float]:
    """For each of the times, until when the model has learned that is then in use, 0 without one."""
    found = []
    for at_s in times_s:
        training.step(at_s * SECOND, history)
        found.append(training.model.trained_ns / SECOND if training.model else 0)
    return found


def test_the_first_model_is_used_six_intervals_after_there_is_enough_history(workers: ThreadPoolExecutor) -> None:
    training = Training(CONFIG, 10 * SECOND, workers)
    history = filled(ROWS_MIN)
    assert trained_at(training, history, 300, 301, 350, 360, 361, 599) == [0, 0, 0, 0, 301, 301]


def test_later_models_begin_at_whole_multiples_of_the_period(workers: ThreadPoolExecutor) -> None:
    training = Training(CONFIG, 10 * SECOND, workers)
    times = (301, 361, 600, 659, 660, 1199, 1200, 1260)
    assert trained_at(training, filled(ROWS_MIN), *times) == [0, 301, 301, 301, 600, 600, 600, 1200]


@pytest.mark.parametrize(("rows", "since_s"), [(ROWS_MIN - 1, 1), (ROWS_MIN, 500)])
def test_too_few_vectors_or_too_short_a_time_train_nothing(
    workers: ThreadPoolExecutor, rows: int, since_s: int
) -> None:
    training = Training(CONFIG, 10 * SECOND, workers)
    assert trained_at(training, filled(rows, since_s), 301, 361, 600, 700) == [0, 0, 0, 0]


def test_the_model_is_of_the_history_as_it_was_at_the_beginning(workers: ThreadPoolExecutor) -> None:
    one, other = (Training(CONFIG, 10 * SECOND, workers) for _ in range(2))
    steady, changing = filled(ROWS_MIN), filled(ROWS_MIN)
    for training, history in ((one, steady), (other, changing)):
        training.step(301 * SECOND, history)
    changing.add(np.full((500, 4), 1e6), 302 * SECOND)
    for training, history in ((one, steady), (other, changing)):
        training.step(361 * SECOND, history)
    assert one.model is not None
    assert other.model is not None
    vectors = np.zeros((1, 4))
    assert one.model.score(vectors).tolist() == other.model.score(vectors).tolist()


@pytest.mark.parametrize("cut_s", [310, 400, 610])
def test_a_restart_changes_no_moment_and_no_model(workers: ThreadPoolExecutor, cut_s: int) -> None:
    history, times = filled(ROWS_MIN), (301, 310, 361, 400, 600, 610, 660, 700)
    whole = Training(CONFIG, 10 * SECOND, workers)
    expected = trained_at(whole, history, *times)
    first, second = (Training(CONFIG, 10 * SECOND, workers) for _ in range(2))
    before = trained_at(first, history, *(at for at in times if at <= cut_s))
    second.restore(first.state())
    assert before + trained_at(second, history, *(at for at in times if at > cut_s)) == expected
    assert whole.model is not None
    assert second.model is not None
    assert second.model.score(np.ones((1, 4))).tolist() == whole.model.score(np.ones((1, 4))).tolist()
