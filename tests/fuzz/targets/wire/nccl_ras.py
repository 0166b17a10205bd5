"""What NCCL's RAS answers, in JSON or text: it is read or refused, and what is read are series."""

from common.errors import BadInput
from ingest.collectors.canonical_samples import TargetSamples, Values
from ingest.collectors.nccl_ras.config import Limits
from ingest.collectors.nccl_ras.json_reply import parse_json
from ingest.collectors.nccl_ras.text_reply import parse_text
from telemetry.series import is_series_key

_LIMITS = Limits(communicators_max=100, ranks_max=100, hosts_max=10)
SEEDS = (
    b'{"communicators":[{"size":2,"ranks":[{"rank":0,"host":"10.0.0.1","pid":1,"cuda_dev":0,"status":{"init_state":0,'
    b'"async_error":6,"abort_flag":true},"collective_counts":{"AllReduce":1}}],"missing_ranks":[{"rank":1,"host":'
    b'"::1","pid":2,"cuda_dev":1,"status":{"unresponsive":true,"considered_dead":false}}]}],"ras":{"timeouts_count":0}}',
    b"NCCL version 2.26.2\n    0         1         4         8        32        32   RUNNING  MISMATCH\nDEAD\n"
    b"  Process 4 on node 10.0.0.1 managing GPUs 0,1\nWarnings\n#0-0 (fa) MISMATCH\n  2 ranks have status RUNNING\n"
    b"  Rank 1 has status NOCOMM -- GPU 4 managed by process 3 on node 10.0.0.2\n",
)


def target(data: bytes) -> None:
    for parse in (parse_json, parse_text):
        try:
            report = parse(data, _LIMITS)
        except BadInput:
            continue
        found = TargetSamples("nccl-ras/node1", "node1", "nccl_ras", 0).read(Values.of(report.samples("7", {})))
        assert all(map(is_series_key, found.layout.table.keys))
