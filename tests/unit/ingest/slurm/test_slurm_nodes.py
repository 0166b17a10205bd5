"""Slurm's nodes: the forms of its versions, what takes a node away on purpose, and what only looks like it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web

from common.errors import BadInput
from ingest.collectors.node_list import NodeList, node_facts
from ingest.collectors.slurm.collector import SlurmNodesCollector
from ingest.collectors.slurm.config import NodesConfig
from ingest.collectors.slurm.nodes import parse_nodes
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import Intent, NodeState, TopologyFact

S = 1_000_000_000
DRAINED = NodeState("node1", "DRAIN+IDLE", Intent.DRAINED, "new PSU", "root", 1_700_000_000 * S)


def entry(**changed: Any) -> dict[str, Any]:
    """A node as slurmrestd of 23.11 and later writes it."""
    at = {"set": True, "infinite": False, "number": 1_700_000_000}
    known = {
        "name": "node1",
        "state": ["IDLE", "DRAIN"],
        "reason": "new PSU",
        "reason_changed_at": at,
        "reason_set_by_user": "root",
    }
    return known | changed


def parsed(*entries: object) -> dict[str, NodeState]:
    return dict(parse_nodes(json.dumps({"nodes": entries}).encode()).nodes)


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"reason_changed_at": 1_700_000_000},
        {"state": "idle", "state_flags": ["DRAIN"]},  # until 22.05
        {"state": "IDLE+DRAIN"},  # as scontrol prints it
        {"state": "idle*+drain"},
    ],
)
def test_the_forms_of_slurms_versions_are_one_state(changed: dict[str, Any]) -> None:
    assert parsed(entry(**changed)) == {"node1": DRAINED}


@pytest.mark.parametrize(
    ("state", "intent"),
    [
        (["IDLE", "REBOOT_REQUESTED"], Intent.REBOOT),
        (["DOWN", "DRAIN", "REBOOT_ISSUED"], Intent.REBOOT),
        (["IDLE", "MAINTENANCE", "RESERVED"], Intent.MAINTENANCE),
        (["DOWN", "MAINT"], Intent.MAINTENANCE),
        (["IDLE", "POWERED_DOWN"], Intent.POWERED_DOWN),
        (["ALLOCATED", "DRAIN"], Intent.DRAINED),
        (["MIXED", "PLANNED"], ""),
        (["IDLE", "RESERVED"], ""),
        (["DOWN", "NOT_RESPONDING"], ""),
        (["ALLOCATED"], ""),
        (["IDLE", "REBOOT_CANCELED"], ""),
    ],
)
def test_what_takes_a_node_away_on_purpose(state: list[str], intent: Any) -> None:
    assert parsed(entry(state=state))["node1"].intent == intent


def test_a_node_in_use_has_no_words_so_that_each_job_is_no_fact() -> None:
    assert parsed(entry(state=["ALLOCATED"])) == parsed(entry(state=["IDLE"])) == {"node1": NodeState("node1", "")}


def test_a_state_without_a_reason_has_no_time() -> None:
    assert parsed(entry(state=["DOWN", "MAINT"], reason=""))["node1"].since_ns == 0


@pytest.mark.parametrize("broken", [5, {}, {"name": ""}, entry(name="x" * 2000), entry(reason_changed_at="soon")])
def test_a_malformed_entry_is_counted_and_the_others_are_used(broken: object) -> None:
    found = parse_nodes(json.dumps({"nodes": [broken, entry()]}).encode())
    assert (found.nodes, found.malformed) == ({"node1": DRAINED}, 1)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"jobs": []}', b'{"nodes": 3}'])
def test_other_documents_are_refused(body: bytes) -> None:
    with pytest.raises(BadInput, match="node list"):
        parse_nodes(body)


def test_the_life_of_a_state_in_facts() -> None:
    free = NodeState("node1", "")
    start = node_facts(None, {"node1": free}, 1, "slurm")
    assert start == [TopologyFact(free, 1, "slurm")], "what was known before the start must end"
    assert node_facts({"node1": free}, {"node1": free}, 2, "slurm") == []
    assert node_facts({"node1": free}, {"node1": DRAINED}, 3, "slurm") == [TopologyFact(DRAINED, 3, "slurm")]
    assert node_facts({"node1": DRAINED}, {}, 4, "slurm") == [TopologyFact(DRAINED, 4, "slurm", gone=True)]


def group(*names: str, **changed: Any) -> dict[str, Any]:
    """Of ``sinfo --json`` of 23.02 and later, without the sums of its nodes."""
    known = {
        "node": {"state": ["IDLE", "DRAIN"]},
        "nodes": {"total": len(names), "hostnames": [], "addresses": [], "nodes": list(names)},
        "reason": {"description": "new PSU", "time": 1_700_000_000, "user": "root"},
        "partition": {"name": "gpu"},
    }
    return known | changed


def grouped(*groups: object) -> NodeList:
    return parse_nodes(json.dumps({"sinfo": groups, "errors": []}).encode())


def test_all_nodes_of_a_group_of_sinfo_have_its_state() -> None:
    nothing = {"description": "", "time": 0, "user": ""}
    found = grouped(group("node1", "node[2-3]"), group("node4", node={"state": ["ALLOCATED"]}, reason=nothing))
    drained = {name: replace(DRAINED, device=name) for name in ("node1", "node2", "node3")}
    assert found == NodeList({**drained, "node4": NodeState("node4", "")}, 0)


def test_a_node_of_two_partitions_is_one_and_a_partition_without_nodes_is_no_error() -> None:
    empty = group(node={"state": []})
    assert grouped(empty, group("node1"), group("node1", partition={"name": "all"})) == NodeList({"node1": DRAINED}, 0)


@pytest.mark.parametrize(
    "broken", [5, {}, group("node1") | {"node": {}}, group("node[1-"), group("x" * 2000), group("node1", reason=5)]
)
def test_a_malformed_group_is_counted_and_the_others_are_used(broken: object) -> None:
    assert grouped(broken, group("node1")) == NodeList({"node1": DRAINED}, 1)


@asynccontextmanager
async def restd(answers: list[dict[str, Any]]) -> AsyncIterator[str]:
    """slurmrestd, whose list is another one at each request."""

    async def nodes(request: web.Request) -> web.Response:
        if request.headers.get("X-SLURM-USER-TOKEN") != "t0ken":
            return web.Response(status=401)
        return web.json_response(answers.pop(0))

    app = web.Application()
    app.router.add_get("/slurm/v0.0.41/nodes", nodes)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/slurm/v0.0.41/nodes"
    finally:
        await runner.cleanup()


async def test_the_states_of_a_drain_over_slurmrestd(tmp_path: Any) -> None:
    (tmp_path / "token").write_text("t0ken\n")
    lists: list[dict[str, Any]] = [
        {"nodes": [entry(state=["IDLE"])]},
        {"nodes": [entry()]},
        {"errors": []},
        {"nodes": [entry()]},
    ]
    async with restd(lists) as url:
        anonymous = await SlurmNodesCollector(NodesConfig(url=url)).collect(1)
        assert isinstance(anonymous, SampleBatch)
        assert anonymous.collection.down is DownReason.AUTH
        collector = SlurmNodesCollector(NodesConfig(url=url, token_file=tmp_path / "token"))
        assert await collector.collect(2) == [TopologyFact(NodeState("node1", ""), 2, "slurm-nodes")]
        assert await collector.collect(3) == [TopologyFact(DRAINED, 3, "slurm-nodes")]
        failed = await collector.collect(4)
        assert isinstance(failed, SampleBatch)
        assert failed.collection.down is DownReason.BAD_FORMAT
        assert await collector.collect(5) == [], "a failure ends nothing"
