import pytest

from tests.unit.analytics.correlate.hosts import Hosts
from tests.unit.analytics.correlate.small_fabric import Fabric, Run


@pytest.fixture(scope="session")
def cluster() -> Fabric:
    return Fabric()


@pytest.fixture
def run(cluster: Fabric) -> Run:
    return Run(cluster)


@pytest.fixture(scope="session")
def start(cluster: Fabric) -> type[Run]:
    """The class itself, for tests that need several runs."""
    return Run


@pytest.fixture
def hosts(cluster: Fabric, run: Run) -> Hosts:
    return Hosts(cluster, run)
