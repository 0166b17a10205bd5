"""Fixtures that start real servers; each module of ``tests/servers`` owns one."""

from hypothesis import settings

# The same examples in each run: the same tree gives the same verdict.
settings.load_profile("ci")

pytest_plugins = [
    "tests.servers.kafka",
    "tests.servers.prometheus",
    "tests.servers.alertmanager",
    "tests.servers.certificates",
    "tests.servers.gnmi",
    "tests.servers.node_exporter",
    "tests.servers.chromium",
    "tests.servers.webhook",
]
