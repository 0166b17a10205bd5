"""What NCCL's RAS answers and streams, in JSON or text: it is read or refused, and what is read are series."""

from collections.abc import Iterable

from common.errors import BadInput
from ingest.collectors.canonical_samples import SourceSample, TargetSamples, Values
from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.event_stream import EventReader, Heard
from ingest.collectors.nccl_ras.json_reply import parse_json
from ingest.collectors.nccl_ras.peer_events import KINDS, PeerEvents
from ingest.collectors.nccl_ras.text_reply import parse_text
from telemetry.series import is_series_key

_LIMITS = Limits(communicators_max=100, ranks_max=100, hosts_max=10)
_NOW_NS = 1_766_149_627_000_000_000
SEEDS = (
    b'{"communicators":[{"size":2,"ranks":[{"rank":0,"host":"10.0.0.1","pid":1,"cuda_dev":0,"status":{"init_state":0,'
    b'"async_error":6,"abort_flag":true},"collective_counts":{"AllReduce":1}}],"missing_ranks":[{"rank":1,"host":'
    b'"::1","pid":2,"cuda_dev":1,"status":{"unresponsive":true,"considered_dead":false}}]}],"ras":{"timeouts_count":0}}',
    b"NCCL version 2.26.2\n    0         1         4         8        32        32   RUNNING  MISMATCH\nDEAD\n"
    b"  Process 4 on node 10.0.0.1 managing GPUs 0,1\nWarnings\n#0-0 (fa) MISMATCH\n  2 ranks have status RUNNING\n"
    b"  Rank 1 has status NOCOMM -- GPU 4 managed by process 3 on node 10.0.0.2\n",
    b"[2025-12-19 13:07:07] PEER_DEAD: Process 1524345 on node 172.16.64.245 managing GPUs 0,1 (NVML 2,3) \n"
    b"SERVER PROTOCOL 2\n[2025-12-19 13:07:08] PEER_RECOVERED: 10.0.0.1<45821> peer responding again\n",
    b'{\n  "timestamp": "2025-12-19 13:07:07",\n  "group": "LIFECYCLE",\n  "event": "PEER_DEAD",\n  "peer": {\n'
    b'    "host": "::1",\n    "pid": 4,\n    "cuda_devs": [1],\n    "nvml_devs": [1]\n  },\n  "details": ""\n}\n',
)


def target(data: bytes) -> None:
    for parse in (parse_json, parse_text):
        try:
            report = parse(data, _LIMITS)
        except BadInput:
            continue
        _are_series(report.samples("7", {}))
    for is_json in (True, False):
        _stream(data, is_json=is_json)


def _stream(data: bytes, *, is_json: bool) -> None:
    """At once, and in two halves."""
    whole, halves = EventReader(is_json=is_json), EventReader(is_json=is_json)
    heard, half = whole.feed(data + b"\n"), len(data) // 2
    first, rest = halves.feed(data[:half]), halves.feed(data[half:] + b"\n")
    assert heard == Heard(first.events + rest.events, first.unreadable + rest.unreadable)
    happened = PeerEvents(10, "7", {})
    for event in heard.events:
        if event.name in KINDS:
            happened.add(event, _NOW_NS)
    _are_series(happened.reading(_NOW_NS))


def _are_series(samples: Iterable[SourceSample]) -> None:
    found = TargetSamples("nccl-ras/node1", "node1", "nccl_ras", 0).read(Values.of(samples))
    assert all(map(is_series_key, found.layout.table.keys))
