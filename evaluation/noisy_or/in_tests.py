"""A plugin for pytest: every correlator of a test run chooses by the noisy-or.

``python -m pytest -p evaluation.noisy_or.in_tests tests/unit/analytics/correlate/scenarios`` counts the written
sequences of faults that it names as the product does.
"""

from functools import partialmethod

import pytest

from analytics.correlate.correlator import Correlator
from evaluation.noisy_or.choose import choose


def pytest_configure() -> None:
    """Lasts as long as the process."""
    pytest.MonkeyPatch().setattr(Correlator, "__init__", partialmethod(Correlator.__init__, chooser=choose))
