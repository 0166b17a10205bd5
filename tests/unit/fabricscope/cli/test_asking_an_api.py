"""``fabricscope incidents``, ``targets``, ``ledger`` and ``changes`` against the real API."""

import asyncio
import json
import urllib.parse
from dataclasses import replace as changed
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from bus.base import Bus, Message
from bus.reporting import publish_report
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from fabricscope.cli import app
from telemetry import topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.account import ACCOUNT_HEADER
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.incidents import IncidentState
from telemetry.ledger import StageReport
from telemetry.objects import device
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable
from tests.servers.process import free_port
from tests.unit.fabricscope.api.traffic import eventually, incident, publish_cluster
from tests.unit.fabricscope.cli.test_cli import fabricscope
from tests.unit.traffic import publish_incidents

NOON_NS = 1_700_049_600 * 10**9


async def run(*arguments: str) -> Result:
    return await asyncio.to_thread(CliRunner().invoke, app, arguments, env={"COLUMNS": "200"})


@pytest.fixture
async def filled(api: ApiService, bus) -> str:
    """The address of an API that knows two incidents, a target and a change."""
    await publish_cluster(bus)
    over = changed(incident("over", IncidentState.RESOLVED), onset_ns=NOON_NS, title="all [red]clear[/red] \x1b[2J")
    await publish_incidents(bus, incident("i1"), over)
    work = Change("c1", ChangeKind.MAINTENANCE, (device("node1"), device("node2")), NOON_NS, 0, "carol", "new PSUs")
    await bus.publish(topics.CHANGES, [Message(b"c1", encode_record(work))])
    for path, number in (("incidents", 2), ("targets", 1), ("changes", 1)):
        await eventually(api.url, f"/api/v1/{path}", lambda body, number=number: len(body) == number)
    return api.url


async def test_incidents_are_a_table_worst_first(filled):
    answer = await run("incidents", "--url", filled)
    assert answer.exit_code == 0
    first, second = (line for line in answer.stdout.splitlines() if "critical" in line)
    assert "firing" in first
    assert "pod1: PFC storm from leaf1/Ethernet4" in first
    assert "2.00" in first
    assert "2023-11-15 12:00:00" in second
    assert r"all [red]clear[/red] \u001b[2J" in second
    assert (await run("incidents", "list", "--url", filled, "--state", "resolved")).stdout.count("critical") == 1
    assert "There are more incidents: --limit" in (await run("incidents", "--url", filled, "--limit", "1")).stdout
    assert "No incidents." in (await run("incidents", "--url", filled, "--object", "node9")).stdout


async def test_incidents_are_json_for_programs(filled):
    answer = await run("incidents", "--url", filled, "--output", "json", "--since", "2024-01-01T00:00:00Z")
    (one, other) = json.loads(answer.stdout)
    assert (one["id"], one["blast"]["gpus"]["count"], other["onset"]) == ("i1", 2, "2023-11-15T12:00:00Z")
    whole = await run("incidents", "show", "i1", "--url", filled, "--output", "json", "--members")
    assert [one["kind"] for one in json.loads(whole.stdout)["members"]] == [
        "link",
        "node",
        "gpu",
        "gpu",
        "job",
        "finding",
    ]


async def test_one_incident_is_a_panel(filled):
    answer = await run("incidents", "show", "i1", "--url", filled, "--members")
    assert answer.exit_code == 0
    assert "FIRING · slow_receiver · confidence 93% · i1" in answer.stdout
    assert "Blast radius  2 GPUs, 1 node, 1 link, 1 job; 2.00 GPU-hours lost so far" in answer.stdout
    assert "gpu (2)\n  node1/GPU-1\n  node1/GPU-2\n" in answer.stdout


async def test_targets_and_changes_are_tables(filled):
    targets = await run("targets", "--url", filled)
    assert "gnmi/leaf1" in targets.stdout
    assert "yes" in targets.stdout
    assert "No targets." in (await run("targets", "--down", "--url", filled)).stdout
    changes = await run("changes", "--url", filled, "--kind", "maintenance")
    assert "device:node2" in changes.stdout
    assert "2023-11-15 12:00:00" in changes.stdout
    assert json.loads((await run("changes", "--url", filled, "--output", "json")).stdout)[0]["ends"] is None


async def test_the_settings_say_where_the_api_is_and_which_token_it_takes(bus, replace, tmp_path: Path):
    config = ApiConfig(port=0, state_dir=tmp_path / "api", token_for_reading=True)
    service = await replace(ApiService(config, bus))
    port = urllib.parse.urlsplit(service.url).port
    settings = tmp_path / "fabricscope.yaml"
    settings.write_text(f"api: {{port: {port}, state_dir: {tmp_path / 'api'}, token_for_reading: true}}\n")
    assert (await run("targets", "--config", str(settings))).exit_code == 0
    named = await asyncio.to_thread(fabricscope, "targets", "--config", str(settings), "--url", service.url)
    assert named.returncode == 1, "this machine's token is not sent to an address that is named"
    assert "401 unauthorized: unauthorized; expected a token" in " ".join(named.stderr.split())
    given = ("--url", service.url, "--token-file", str(tmp_path / "api" / "local.token"))
    assert (await run("targets", *given)).exit_code == 0


async def test_changes_can_be_read_where_there_is_little_room(api, bus, monkeypatch):
    """A job names each of its nodes; eighty columns are the usual terminal, and a pipe has more."""
    nodes = [device(f"node{number}") for number in range(1, 1025)]
    job = Change("c2", ChangeKind.JOB_START, tuple(nodes), NOON_NS, author="alice", summary="pretrain-llm starts")
    await bus.publish(topics.CHANGES, [Message(b"c2", encode_record(job))])
    await eventually(api.url, "/api/v1/changes", len)
    narrow = await asyncio.to_thread(CliRunner().invoke, app, ["changes", "--url", api.url], env={"COLUMNS": "80"})
    lines = [line.strip() for line in narrow.stdout.splitlines()]
    assert any(line.startswith("│2023-11-15 ") and "job_start │ device:node1 " in line for line in lines)
    assert sum("device:node" in line for line in lines) == 4
    assert any("and 1020 more" in line for line in lines)
    monkeypatch.delenv("COLUMNS", raising=False)  # a test worker may have one
    piped = await asyncio.to_thread(fabricscope, "changes", "--url", api.url)
    assert any("2023-11-15 12:00:00" in line and "pretrain-llm starts" in line for line in piped.stdout.splitlines())


async def publish_accounts(bus: Bus) -> None:
    """A target that lost samples, and one that lost none; and what their stage reports."""
    messages = []
    lossy = b"1000 1200 1150 47 no_value=2 out_of_bounds=1"
    for name, counted in (("gpu/n1:9400", lossy), ("gpu/n2:9400", b"9 5 5 0")):
        table = SeriesTable(name, name[4:6], (f'gpu_power_watts{{device="{name[4:6]}",gpu="0"}}',))
        columns = np.array([NOON_NS]), np.zeros(1, dtype=np.uint32), np.ones(1)
        value, headers = encode_batch(SampleBatch(table, Collection(1, 0, NOON_NS, 0.01, None, 7, 8), *columns))
        messages.append(Message(name.encode(), value, {**headers, ACCOUNT_HEADER: counted}))
    await bus.publish(topics.SAMPLES, messages)
    report = StageReport("ingest", "ingest-0", 1, NOON_NS, 1205, 1155, 0, 47, {"no_value": 2, "out_of_bounds": 1})
    await publish_report(bus.publish, report)


async def test_the_ledger_is_by_stage_and_job_or_by_target(api, bus):
    await publish_accounts(bus)
    await eventually(api.url, "/api/v1/ledger/targets", lambda body: len(body) == 2)
    await eventually(api.url, "/api/v1/ledger", len)
    whole = " ".join((await run("ledger", "--url", api.url)).stdout.split())
    assert "ingest ingest-0 │ 1,205 │ 1,155 │ 0 │ 47 │ no_value 2 │ 0" in whole
    assert "gpu │ 2 │ 1,205 │ 1,155 │ 47 │ no_value 2 │ 0 │ 2 │ 14 │ 16" in whole
    found = json.loads((await run("ledger", "--url", api.url, "--output", "json")).stdout)
    assert [(one["stage"], one["balance"]) for one in found["stages"]] == [("ingest", 0)]
    assert [(one["job"], one["targets"], one["left_out"]) for one in found["jobs"]] == [("gpu", 2, 16)]
    targets = (await run("ledger", "--targets", "--url", api.url)).stdout
    assert targets.index("gpu/n1:9400") < targets.index("gpu/n2:9400")
    lossy = json.loads((await run("ledger", "--lossy", "--url", api.url, "--output", "json")).stdout)
    assert [(one["target"], one["dropped"]) for one in lossy] == [("gpu/n1:9400", {"no_value": 2, "out_of_bounds": 1})]
    assert "No targets." in (await run("ledger", "--job", "other", "--url", api.url)).stdout
    assert "gpu/n2:9400" in (await run("ledger", "--device", "n2", "--url", api.url)).stdout


@pytest.mark.parametrize("command", ["incidents", "targets", "ledger", "changes"])
def test_without_an_api_there_is_one_clear_line(command):
    url = f"http://127.0.0.1:{free_port()}"
    answer = fabricscope(command, "--url", url)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr == f"fabricscope: {url} does not answer: nobody listens there\n"


async def test_what_the_api_refuses_is_said_in_its_words(api):
    answer = await asyncio.to_thread(fabricscope, "incidents", "show", "none", "--url", api.url)
    assert answer.returncode == 1
    assert answer.stderr.endswith("/api/v1/incidents/none: 404 not_found: no incident none\n")
