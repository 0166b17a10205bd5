"""Fixtures that start real servers; each module of ``tests/servers`` owns one."""

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
