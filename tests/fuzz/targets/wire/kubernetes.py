"""The page of kube-state-metrics: what of it becomes facts and changes can be read by those who consume them."""

from common.errors import BadInput
from ingest.collectors.job_list import changes, facts
from ingest.collectors.kubernetes.jobs import jobs_of
from ingest.collectors.kubernetes.nodes import nodes_of
from ingest.collectors.kubernetes.page import parse_page
from ingest.collectors.node_list import node_facts
from telemetry.changes import Change
from telemetry.codec.records import decode_record, encode_record
from telemetry.topology import TopologyFact

_NOW = 1_760_000_000_000_000_000
_NODE = b'kube_node_spec_unschedulable{node="n1"} 1\nkube_node_spec_taint{node="n1",key="karpenter.sh/disrupted"} 1\n'
_POD = (
    b'kube_pod_info{namespace="a",pod="b",created_by_kind="Job",created_by_name="c"} 1\n'
    b'kube_pod_start_time{namespace="a",pod="b"} 1.7e+09\n'
    b'kube_pod_status_phase{namespace="a",pod="b",phase="Running"} 1\n'
    b'kube_pod_container_resource_requests{namespace="a",pod="b",node="n1",resource="nvidia_com_gpu"} 8\n'
)
SEEDS = (
    _NODE,
    _POD,
    _POD + _NODE,
    _NODE + b'kube_node_status_condition{node="n1",condition="Ready",status="false"} 1\n',
)


def target(data: bytes) -> None:
    try:
        page = parse_page(data, ("nvidia_com_gpu",))
    except BadInput:
        return
    if (nodes := nodes_of(page)) is not None:
        for fact in node_facts(None, nodes.nodes, _NOW, "kubernetes"):
            assert decode_record(encode_record(fact), TopologyFact) == fact
    if (jobs := jobs_of(page)) is not None:
        for fact in facts(None, jobs, _NOW, "kubernetes"):
            assert decode_record(encode_record(fact), TopologyFact) == fact
        for change in changes(None, jobs, _NOW):
            assert decode_record(encode_record(change), Change) == change
