import pytest

from tests.unit.analytics.correlate.plant import Plant, Run


@pytest.fixture(scope="session")
def plant() -> Plant:
    return Plant()


@pytest.fixture
def run(plant: Plant) -> Run:
    return Run(plant)


@pytest.fixture(scope="session")
def start(plant: Plant) -> type[Run]:
    """The class itself, for tests that need several runs."""
    return Run
