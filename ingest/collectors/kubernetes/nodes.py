"""From the nodes of kube-state-metrics to their states. Pure.

A cordoned node is unschedulable; taints that say that a node goes away on purpose:
kubernetes.io/docs/reference/labels-annotations-taints, the cluster autoscaler's FAQ, karpenter.sh/docs.
"""

from typing import Literal

from ingest.collectors.kubernetes.page import NODE_CONDITION, NODE_TAINT, NODE_UNSCHEDULABLE, Page
from ingest.collectors.node_list import NodeList
from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Intent, NodeState

REMOVED = frozenset(
    {
        "node.kubernetes.io/out-of-service",
        "node.cloudprovider.kubernetes.io/shutdown",
        "ToBeDeletedByClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/disruption",
    }
)


def nodes_of(page: Page) -> NodeList | None:
    """None where the page lists no nodes. The words of a state are kubectl's.

    A node that is not ready is nobody's wish: Kubernetes does not hear of it.
    """
    if not page[NODE_UNSCHEDULABLE]:
        return None
    removed = {
        labels.get("node"): labels["key"] for labels, on in page[NODE_TAINT] if on and labels.get("key") in REMOVED
    }
    not_ready = {
        labels.get("node")
        for labels, on in page[NODE_CONDITION]
        if on and labels.get("condition") == "Ready" and labels.get("status") != "true"
    }
    nodes: dict[str, NodeState] = {}
    malformed = 0
    for labels, cordoned in page[NODE_UNSCHEDULABLE]:
        name = labels.get("node", "")
        if not 0 < len(name) <= NAME_CHARS_MAX:
            malformed += 1
            continue
        words = ("NotReady",) * (name in not_ready) + ("SchedulingDisabled",) * bool(cordoned)
        nodes[name] = NodeState(name, ",".join(words), _intent(name in removed, bool(cordoned)), removed.get(name, ""))
    return NodeList(nodes, malformed)


def _intent(removed: bool, cordoned: bool) -> Intent | Literal[""]:
    if removed:
        return Intent.POWERED_DOWN
    return Intent.DRAINED if cordoned else ""
