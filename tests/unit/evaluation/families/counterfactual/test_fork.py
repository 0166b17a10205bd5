"""A copy of the process reports, and leaves this one as it is."""

import os

import numpy as np
import pytest

from analytics.detectors.multivariate.history import History
from analytics.detectors.multivariate.training import ROWS_MIN, Training
from analytics.models.multivariate.config import MultivariateConfig
from common.errors import ConfigError
from common.units import NS_PER_S
from evaluation.families.counterfactual.at_once import AtOnce
from evaluation.families.counterfactual.fork import in_copy


def test_what_the_copy_does_changes_nothing_here() -> None:
    numbers = iter(range(5))
    assert next(numbers) == 0
    assert in_copy(lambda: list(numbers)) == [1, 2, 3, 4]
    assert list(numbers) == [1, 2, 3, 4]


def test_a_large_result_arrives_whole() -> None:
    assert in_copy(lambda: bytes(3_000_000)) == bytes(3_000_000)


def test_an_error_of_the_copy_is_raised_here() -> None:
    def fails() -> None:
        raise ConfigError("no running job")

    with pytest.raises(ConfigError, match="no running job"):
        in_copy(fails)


def test_a_copy_that_dies_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="died without a result"):
        in_copy(lambda: os._exit(1))


def test_models_whose_training_had_begun_are_used_in_the_copy_too() -> None:
    training, history = (
        Training(MultivariateConfig(train_every_s=600.0, learn_s=300.0), 10 * NS_PER_S, AtOnce()),
        History(4),
    )
    history.add(np.random.default_rng(1).normal(size=(ROWS_MIN, 4)), NS_PER_S)
    training.step(301 * NS_PER_S, history)

    def goes_on() -> list[int]:
        found = []
        for at_s in (361, 600, 660):  # the second one is trained in the copy
            training.step(at_s * NS_PER_S, history)
            assert training.model is not None
            found.append(training.model.trained_ns // NS_PER_S)
        return found

    assert in_copy(goes_on) == [301, 301, 600]
    assert training.model is None


def test_an_error_of_work_that_is_done_at_once_is_raised_by_its_result() -> None:
    work = AtOnce().submit(int, "seven")
    with pytest.raises(ValueError, match="seven"):
        work.result()
