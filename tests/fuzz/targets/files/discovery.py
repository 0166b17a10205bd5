"""Lists of targets, from files and over HTTP, up to the addresses that are scraped."""

from structlog.testing import capture_logs

from common.documents.bounded_yaml import parse_bounded
from common.errors import BadInput
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import parse_groups, resolve

_JOB = ScrapeConfig.model_validate({"job_name": "dcgm", "source": "dcgm"})
SEEDS = (
    b'[{"targets": ["node1:9400", "[::1]:9400"], "labels": {"rack": "r1", "__metrics_path__": "/m"}}]',
    b"- targets: [node1:9400]\n  labels: {device: node1, __scheme__: https}\n- targets: []\n",
)


def target(data: bytes) -> None:
    try:
        with capture_logs():
            found = resolve(_JOB, parse_groups(parse_bounded(data, "targets.yaml") or [], "targets.yaml"))
    except BadInput:
        return
    for each in found:
        assert each.device
