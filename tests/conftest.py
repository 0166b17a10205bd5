"""Fixtures that start real servers; each module of ``tests/servers`` owns one."""

import logging
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

# The same examples in each run: the same tree gives the same verdict.
settings.load_profile("ci")

pytest_plugins = [
    "tests.servers.kafka",
    "tests.servers.prometheus",
    "tests.servers.alertmanager",
    "tests.servers.certificates",
    "tests.servers.dialling",
    "tests.servers.gnmi",
    "tests.servers.node_exporter",
    "tests.servers.snmpd",
    "tests.servers.chromium",
    "tests.servers.nginx",
    "tests.servers.webhook",
    "tests.servers.strict_receiver",
    "tests.servers.victoria_metrics",
]


@pytest.fixture(autouse=True)
def default_logs() -> Iterator[None]:
    """A command that a test runs in this process configures logs for the process: not for the tests after it."""
    yield
    if structlog.is_configured():
        structlog.reset_defaults()
        # What `fabricscope.logs` has added; its stream is closed when the command has ended.
        logging.root.handlers[:] = [one for one in logging.root.handlers if type(one) is not logging.StreamHandler]
