"""From Slurm's node list as JSON, in the forms of its versions, to states of nodes. Pure.

Until 22.05 the base state is a text and its flags are a list of their own; since then all are one list. Words:
slurm.schedmd.com/sinfo.html, NODE STATE CODES. What sinfo prints since 23.02 are groups of nodes (SINFO_DATA in
src/plugins/data_parser/v0.0.41/parsers.c of Slurm).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from common.errors import BadInput
from ingest.collectors.hostlist import expand
from ingest.collectors.node_list import NodeList
from ingest.collectors.slurm.document import entries
from ingest.collectors.slurm.jobs import time_ns
from telemetry.objects import NAME_CHARS_MAX
from telemetry.topology import Intent, NodeState

TEXT_CHARS_MAX = 200
# Of several the first one counts. PLANNED, RESERVED and DOWN alone are nobody's wish to take the node away: a job is
# planned for it, a group of users has it, or Slurm does not hear of it.
INTENTS: tuple[tuple[Intent, frozenset[str]], ...] = (
    (Intent.REBOOT, frozenset({"REBOOT", "REBOOT_ISSUED", "REBOOT_REQUESTED"})),
    (Intent.MAINTENANCE, frozenset({"MAINT", "MAINTENANCE"})),
    (Intent.POWERED_DOWN, frozenset({"POWER_DOWN", "POWERING_DOWN", "POWERED_DOWN", "POWER_UP", "POWERING_UP"})),
    (Intent.DRAINED, frozenset({"DRAIN", "DRAINED", "DRAINING"})),
)


def parse_nodes(body: bytes) -> NodeList:
    """BadInput when the document is no node list. An entry that cannot be read is counted, the others are used."""
    nodes: dict[str, NodeState] = {}
    malformed = 0
    for entry in entries(body, "nodes", "sinfo"):
        try:
            found = [_node(one) for one in _entries_of_group(entry)] if _is_group(entry) else [_node(entry)]
        except (BadInput, KeyError, TypeError, ValueError, AttributeError, OverflowError):
            malformed += 1
            continue
        nodes |= {node.device: node for node in found}
    return NodeList(nodes, malformed)


def _is_group(entry: Mapping[str, Any]) -> bool:
    """Of sinfo: nodes of a partition that are the same in all that it was asked for. A partition may have none."""
    return isinstance(entry.get("nodes"), dict)


def _entries_of_group(group: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """As slurmrestd lists them, one by one."""
    reason = group.get("reason") or {}
    shared = {
        "state": group["node"]["state"],
        "reason": reason.get("description"),
        "reason_changed_at": reason.get("time"),
        "reason_set_by_user": reason.get("user"),
    }
    for name in expand(",".join(group["nodes"]["nodes"])):
        yield {"name": name, **shared}


def _node(entry: Mapping[str, Any]) -> NodeState:
    """A node in use has no words: whether it is idle or allocated follows from its jobs, and changes all the time."""
    name = entry["name"]
    if not isinstance(name, str) or not 0 < len(name) <= NAME_CHARS_MAX:
        raise BadInput(f"node {str(name)[:80]!r}: a name of 1 to {NAME_CHARS_MAX} characters expected", "bad_format")
    states = _states(entry)
    intent = next((intent for intent, words in INTENTS if states & words), None)
    if intent is None:
        return NodeState(name, "DOWN" if "DOWN" in states else "")
    reason = str(entry.get("reason") or "")[:TEXT_CHARS_MAX]
    return NodeState(
        name,
        "+".join(sorted(states))[:TEXT_CHARS_MAX],
        intent,
        reason,
        str(entry.get("reason_set_by_user") or "")[:TEXT_CHARS_MAX],
        time_ns(entry.get("reason_changed_at")) if reason else 0,
    )


def _states(entry: Mapping[str, Any]) -> set[str]:
    """In capitals; a text may join several by ``+``, and end with a mark such as ``*``."""
    found: set[str] = set()
    for value in (entry["state"], entry.get("state_flags") or ()):
        for word in value if isinstance(value, list | tuple) else str(value).split("+"):
            found.add(str(word).strip().rstrip("*~#!%$@^-").upper())
    return found - {""}
