"""Short texts inside of others: series, hostlists, objects, matchers, relabelling."""

import contextlib

from pydantic import ValidationError

from alerts.matcher import Matcher
from common.errors import BadInput
from ingest.collectors.exposition.relabel import RelabelConfig, relabel
from ingest.collectors.hostlist import HOSTS_MAX, expand, indices
from telemetry.objects import parse_object
from telemetry.series import is_series_key, parse_series_key, series_key

SEEDS = (
    b'gpu_power_watts{device="node1",gpu="GPU-\\"1\\n"}',
    b"node[1-3,07],oss1,r[1-2]n[01-04]",
    b"0,2-4",
    b"port:leaf1/Ethernet4",
    b"leaf[0-9]+/Eth.*",
    b"(a|b)*c{2,3}",
)


def target(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    with contextlib.suppress(BadInput):
        name, labels = parse_series_key(text)
        if is_series_key(text):
            assert parse_series_key(series_key(name, labels)) == (name, labels)
    with contextlib.suppress(BadInput):
        assert len(expand(text)) <= HOSTS_MAX
    with contextlib.suppress(BadInput):
        assert len(indices(text)) <= HOSTS_MAX
    with contextlib.suppress(BadInput):
        assert str(parse_object(text)) == text
    with contextlib.suppress(ValidationError):
        Matcher(name="x", op="=~", value=text).matches({"x": text * 3})
    with contextlib.suppress(ValidationError):
        relabel({"x": "leaf1" * 40}, [RelabelConfig(source_labels=("x",), regex=text, target_label="y")])
    with contextlib.suppress(ValidationError):
        relabel({"x": "leaf1"}, [RelabelConfig(source_labels=("x",), replacement=text, target_label="y")])
