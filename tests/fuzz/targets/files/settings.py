"""The settings, as YAML with positions."""

import contextlib
import tempfile
from pathlib import Path

from common.errors import ConfigError
from fabricscope.settings import load_settings

_FILE = Path(tempfile.mkdtemp(prefix="fabricscope-fuzz-")) / "settings.yaml"
_DEPLOYED = Path(__file__).parents[4] / "deploy" / "compose" / "fabricscope.yaml"
SEEDS = (
    b"global: {cluster: pod1}\nscrape_configs:\n  - job_name: dcgm\n    source: dcgm\n    scrape_interval: 15s\n"
    b"    static_configs:\n      - targets: [127.0.0.1:9400]\n        labels: {device: node1}\n",
    b"alerting:\n  receivers:\n    - {name: oncall, type: webhook, url: 'http://127.0.0.1:9093'}\n"
    b"  routes:\n    - {matchers: [{name: severity, value: critical}], receivers: [oncall]}\n",
    b"remote_write:\n  - url: http://127.0.0.1:9090/api/v1/write\nbus: {kind: embedded}\n",
    _DEPLOYED.read_bytes()[:4000],
)
EXECUTIONS = 60


def target(data: bytes) -> None:
    _FILE.write_bytes(data)
    with contextlib.suppress(ConfigError):
        load_settings(_FILE)
