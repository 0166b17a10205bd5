"""The nodes of one scheduler, and what two lists of them say together. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from telemetry.topology import NodeState, TopologyFact


@dataclass(frozen=True, slots=True)
class NodeList:
    """Nodes by name. malformed: entries that could not be read."""

    nodes: Mapping[str, NodeState]
    malformed: int


def node_facts(
    before: Mapping[str, NodeState] | None, after: Mapping[str, NodeState], now_ns: int, source: str
) -> list[TopologyFact]:
    """Facts that turn ``before`` into ``after``. None is a start: all nodes get theirs, as nothing else would end what
    was known of them before it."""
    known = before or {}
    found = [TopologyFact(node, now_ns, source) for name, node in after.items() if known.get(name) != node]
    gone = [TopologyFact(node, now_ns, source, gone=True) for name, node in known.items() if name not in after]
    return found + gone
