"""Files by which Grafana finds boards and Prometheus at its start: what it calls provisioning.

``python -m dashboards.provisioning FOLDER`` writes those of the compose file.
"""

import sys
from pathlib import Path

import yaml

BOARDS_FOLDER = "/etc/fabricscope/dashboards"
PROMETHEUS_URL = "http://prometheus:9090"
SCRAPE_INTERVAL = "10s"  # of the collectors: $__rate_interval is at least four of it


def write_provisioning(
    folder: Path, *, boards_folder: str = BOARDS_FOLDER, prometheus_url: str = PROMETHEUS_URL
) -> list[Path]:
    """The files, written. boards_folder: where Grafana finds the boards. prometheus_url: as Grafana reaches it."""
    provider = {
        "name": "fabricscope",
        "folder": "Fabricscope",
        "type": "file",
        "disableDeletion": True,
        "allowUiUpdates": False,
        "options": {"path": boards_folder},
    }
    source = {
        "name": "Prometheus",
        "uid": "prometheus",
        "type": "prometheus",
        "access": "proxy",
        "url": prometheus_url,
        "isDefault": True,
        "jsonData": {"timeInterval": SCRAPE_INTERVAL},
    }
    return [
        _write(folder / "dashboards" / "fabricscope.yaml", {"apiVersion": 1, "providers": [provider]}),
        _write(folder / "datasources" / "prometheus.yaml", {"apiVersion": 1, "datasources": [source]}),
    ]


def _write(path: Path, document: dict[str, object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(document, sort_keys=False))
    return path


if __name__ == "__main__":
    for written in write_provisioning(Path(sys.argv[1])):
        print(written)
