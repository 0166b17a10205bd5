"""A copy of the process reports, and leaves this one as it is."""

import os

import pytest

from common.errors import ConfigError
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
