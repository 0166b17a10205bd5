"""Slurm's job list: what of it becomes facts and changes can be read by those who consume them."""

from common.errors import BadInput
from ingest.collectors.job_list import changes, facts
from ingest.collectors.slurm.jobs import parse_jobs
from telemetry.changes import Change
from telemetry.codec.records import decode_record, encode_record
from telemetry.topology import TopologyFact

_NOW = 1_760_000_000_000_000_000
_RUNNING = (
    b'{"jobs": [{"job_id": 7, "job_state": "RUNNING", "name": "llm", "user_name": "ada", "partition": "gpu",'
    b' "nodes": "node[1-2]", "start_time": 1700000000, "gres_detail": ["gpu:h100:8(IDX:0-7)"],'
    b' "tres_alloc_str": "cpu=8,gres/gpu=8"}]}'
)
SEEDS = (
    _RUNNING,
    b'{"jobs": [{"job_id": {"set": true, "infinite": false, "number": 8}, "job_state": ["RUNNING", "COMPLETING"],'
    b' "nodes": {"list": "n1"}, "start_time": {"set": true, "number": 5}, "job_resources": {"nodes": "n1"}}]}',
    b'{"jobs": [{"job_id": 9, "job_state": "COMPLETED", "nodes": "(null)", "end_time": 1700000500}, 5, null]}',
)


def target(data: bytes) -> None:
    before = parse_jobs(_RUNNING)
    try:
        after = parse_jobs(data)
    except BadInput:
        return
    for known in (None, before.running):
        for fact in facts(known, after, _NOW, "slurm"):
            assert decode_record(encode_record(fact), TopologyFact) == fact
        for change in changes(known, after, _NOW):
            assert decode_record(encode_record(change), Change) == change
