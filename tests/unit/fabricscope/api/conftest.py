"""A read model without a bus."""

import pytest

from fabricscope.api.history import History
from fabricscope.api.read_model import ReadModel


@pytest.fixture
def model() -> ReadModel:
    """Empty, to be filled by hand."""
    return ReadModel(History(1, 1))
