"""Writes the settings that docker-compose.yml mounts: ``python deploy/compose/write_settings.py``.

The collection jobs are the simulator's own settings, so that they fit the cluster that the service "simulator" serves;
the rest differs between containers and one machine.
"""

from pathlib import Path
from typing import Any

import yaml

from simulator.config import SimulatorConfig
from simulator.servers.config import ServeConfig
from simulator.servers.settings import collection, inventory_document
from simulator.wiring import build_layout

HOSTS, INTERVAL_S = 8, 10
INVENTORY = Path("/etc/fabricscope.inventory.yaml")
# The compose network is private: nothing of it is published but the ports on the host's loopback.
_OPEN = {"bootstrap": ["kafka:9092"], "insecure": True, "replication": 1}
_SECURE = {
    "bootstrap": ["kafka:9092"],
    "security": "sasl_tls",
    "ca_file": "/run/secrets/ca.pem",
    "password_file": "/run/secrets/kafka_password",
    "replication": 1,
}
"""The user name is each container's own: ``FABRICSCOPE__BUS__KAFKA__USERNAME``."""
_HEADER = "# Written by deploy/compose/write_settings.py for the simulated cluster of docker-compose.yml.\n"
_CLUSTER = ServeConfig(cluster=SimulatorConfig(hosts=HOSTS, interval_s=INTERVAL_S))


def settings(kafka: dict[str, Any]) -> dict[str, Any]:
    """The settings of every stage. What one stage does not need does not disturb it."""
    return {
        "global": {"cluster": "simulated", "data_dir": "/data", "metrics_host": "0.0.0.0"},
        "bus": {"kind": "kafka", "kafka": kafka},
        **collection(_CLUSTER, build_layout(_CLUSTER.cluster), INVENTORY),
        "analytics": {"engine": {"interval_s": INTERVAL_S}},
        "alerting": {
            "external_url": "http://127.0.0.1:9099",
            "grafana_url": "http://127.0.0.1:3000",
            "receivers": [
                {
                    "name": "alertmanager",
                    "type": "alertmanager",
                    "url": "http://alertmanager:9093",
                    "external_url": "http://127.0.0.1:9093",
                }
            ],
        },
        "remote_write": [{"name": "prometheus", "url": "http://prometheus:9090/api/v1/write"}],
        "recording": {"path": "/data/recording"},
        "api": {
            "host": "0.0.0.0",
            "port": 9099,
            "trusted_network": True,
            "allowed_hosts": ["127.0.0.1", "localhost", "api"],
        },
    }


def texts() -> dict[str, str]:
    """Text by name of the file beside this one."""
    documents = {
        "fabricscope.yaml": settings(_OPEN),
        "fabricscope.secure.yaml": settings(_SECURE),
        "fabricscope.inventory.yaml": inventory_document(build_layout(_CLUSTER.cluster)),
    }
    return {name: _HEADER + _yaml(document) for name, document in documents.items()}


def _yaml(document: dict[str, Any]) -> str:
    text: str = yaml.dump(document, Dumper=yaml.CSafeDumper, sort_keys=False, width=120)
    return text


if __name__ == "__main__":
    for name, text in texts().items():
        (Path(__file__).parent / name).write_text(text)
