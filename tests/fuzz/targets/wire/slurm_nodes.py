"""Slurm's node list: what of it becomes facts can be read by those who consume them."""

from common.errors import BadInput
from ingest.collectors.node_list import node_facts
from ingest.collectors.slurm.nodes import parse_nodes
from telemetry.codec.records import decode_record, encode_record
from telemetry.topology import TopologyFact

_NOW = 1_760_000_000_000_000_000
_DRAINED = (
    b'{"nodes": [{"name": "node1", "state": ["IDLE", "DRAIN"], "reason": "new PSU", "reason_set_by_user": "root",'
    b' "reason_changed_at": {"set": true, "infinite": false, "number": 1700000000}}]}'
)
SEEDS = (
    _DRAINED,
    b'{"nodes": [{"name": "node1", "state": "down", "state_flags": ["REBOOT_ISSUED"], "reason": null}]}',
    b'{"nodes": [{"name": "node2", "state": "IDLE*+MAINT", "reason": "", "reason_changed_at": 5}, 5, null]}',
)


def target(data: bytes) -> None:
    before = parse_nodes(_DRAINED).nodes
    try:
        after = parse_nodes(data).nodes
    except BadInput:
        return
    for known in (None, before):
        for fact in node_facts(known, after, _NOW, "slurm-nodes"):
            assert decode_record(encode_record(fact), TopologyFact) == fact
