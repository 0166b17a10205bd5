"""Hostile texts in what commands print: tables, panels, JSON and CSV. None acts on a terminal or forges a line."""

import asyncio
import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from typer.testing import CliRunner

from bus.base import Message
from common.printing import printable
from dashboards import boards
from dashboards.model import Query
from fabricscope.cli import app
from fabricscope.commands.collect import collect_and_print
from ingest.collectors.inventory.parse import parse_inventory
from ingest.once import Outcome
from simulator.direct import without_samples
from telemetry import objects, topics
from telemetry.changes import Change, ChangeKind
from telemetry.codec.records import encode_record
from telemetry.incidents import BlastRadius
from telemetry.samples import Collection, DownReason, SampleBatch
from telemetry.series import SeriesTable
from telemetry.topology import Device
from tests.hostile_texts import WELL_FORMED
from tests.unit.fabricscope.api.traffic import NS, eventually, incident
from tests.unit.traffic import publish_batches, publish_incidents
from tests.waiting import DEADLINE_S

NOON_NS = 1_700_049_600 * NS
ACTS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""All that does something on a terminal, but for the end of a line."""
CUT = [text[:200] for text in WELL_FORMED]


async def printed(*arguments: str) -> str:
    """Standard output of a command, where each cell has one line."""
    answer = await asyncio.to_thread(CliRunner().invoke, app, arguments, env={"COLUMNS": "4000"})
    assert answer.exit_code == 0, answer.exception
    return answer.stdout


async def listed(url: str, command: str) -> str:
    """The table of all, once nothing in it acts, and its rows are as many as there are texts."""
    limit = str(len(CUT))
    shown = await printed(command, "--url", url, "--limit", limit)
    assert ACTS.findall(shown) == []
    assert len([line for line in shown.splitlines() if line.startswith("│")]) == len(CUT)
    for text in CUT:
        assert printable(text).strip() in shown
    return await printed(command, "--url", url, "--limit", limit, "--output", "json")


def whole(document: str, key: str) -> Sequence[str]:
    """What a program reads: the texts as they were published."""
    assert ACTS.findall(document) == []
    assert document.count("\n") == 1
    return sorted(one[key] for one in json.loads(document))


async def test_of_incidents(api, bus):
    found = [replace(incident(f"i{n}"), title=text, action=text) for n, text in enumerate(CUT)]
    found[0] = replace(found[0], gaps=tuple(CUT), because=tuple(CUT), blast=BlastRadius(nodes=tuple(sorted(CUT))))
    await publish_incidents(bus, *found)
    await eventually(api.url, f"/api/v1/incidents?limit={len(CUT)}", lambda body: len(body) == len(CUT))
    assert whole(await listed(api.url, "incidents"), "title") == sorted(CUT)
    show = ("incidents", "show", "i0", "--members", "--url", api.url)
    panel = await printed(*show)
    assert ACTS.findall(panel) == []
    assert {f"  {printable(text)}" for text in CUT} <= set(panel.split("\n"))
    document = await printed(*show, "--output", "json")
    assert ACTS.findall(document) == []
    assert json.loads(document)["gaps"] == CUT


async def test_of_targets(api, bus):
    tables = [SeriesTable(f"t/{text}", text, (f'up{{device="{n}"}}',)) for n, text in enumerate(CUT)]
    down = Collection(1, 0, NOON_NS, 0.01, DownReason.TIMEOUT)
    await publish_batches(bus, *(without_samples(table, down) for table in tables))
    await eventually(api.url, f"/api/v1/targets?limit={len(CUT)}", lambda body: len(body) == len(CUT))
    assert whole(await listed(api.url, "targets"), "device") == sorted(CUT)


def test_of_one_collection(tmp_path, monkeypatch, capfd):
    """Nobody knows whose page it is that a target answers with."""

    async def collected(*_: object) -> list[Outcome]:
        tables = [SeriesTable(f"t/{text}", text, (f'x{{a="{text}"}}', f'y{{a="{text}"}}')) for text in CUT]
        one, rows = Collection(1, 0, NOON_NS, 0.01), np.arange(2, dtype=np.uint32)
        batches = [SampleBatch(table, one, np.full(2, NOON_NS), rows, np.ones(2)) for table in tables]
        return [Outcome(batch.table.target, batch, unmapped=(batch.table.device,)) for batch in batches]

    monkeypatch.setattr("fabricscope.commands.collect.collect_once", collected)
    monkeypatch.setattr("fabricscope.commands.collect._WIDTH", 4000)
    (tmp_path / "f.yaml").write_text("{}")
    collect_and_print(tmp_path / "f.yaml", 1.0, 2, (), as_json=False)
    table = capfd.readouterr().out
    assert ACTS.findall(table) == []
    assert len([line for line in table.splitlines() if line.startswith("│")]) == 2 * len(CUT)  # a line an example
    collect_and_print(tmp_path / "f.yaml", 1.0, 2, (), as_json=True)
    assert whole(capfd.readouterr().out, "device") == sorted(CUT)


async def test_of_changes(api, bus):
    changes = [
        Change(f"c{n}", ChangeKind.MAINTENANCE, (objects.device(text), objects.device("n1")), NOON_NS, 0, text, text)
        for n, text in enumerate(CUT)
    ]
    await bus.publish(topics.CHANGES, [Message(one.id.encode(), encode_record(one)) for one in changes])
    await eventually(api.url, f"/api/v1/changes?limit={len(CUT)}", lambda body: len(body) == len(CUT))
    command = ("changes", "--url", api.url, "--limit", "1000")
    shown = await printed(*command)
    assert ACTS.findall(shown) == []
    assert len([line for line in shown.splitlines() if line.startswith("│")]) == 2 * len(CUT)  # a line an object
    assert whole(await printed(*command, "--output", "json"), "author") == sorted(CUT)


async def test_of_an_identity_that_there_is_not(api):
    for text in ("none", "../../-/healthy", "a?b#c", 'i1"} or up', "\x1b[2J", "<script>", "١"):
        answer = await asyncio.to_thread(CliRunner().invoke, app, ["incidents", "show", "--url", api.url, "--", text])
        assert answer.exit_code == 1
        assert "404 not_found: " in str(answer.exception)


def test_of_scored_rows(tmp_path):
    """The cells are those of the file: a program that reads them must find its own names. Ours are no formulas."""
    labels = [text for text in CUT if "\x00" not in text]
    rows = [(1_704_067_200 + n, label, 1) for label in labels for n in range(2)]
    file = tmp_path / "f.csv"
    with file.open("w", newline="") as written:
        csv.writer(written, lineterminator="\n").writerows([("time", "label, of it", "value"), *rows])
    command = [sys.executable, "-m", "fabricscope", "detect", str(file), "--by", "label, of it", "--value", "value"]
    answer = subprocess.run(command, capture_output=True, timeout=DEADLINE_S, check=False)
    assert answer.returncode == 0, answer.stderr
    assert ACTS.findall(answer.stderr.decode()) == []
    heading, *scored = csv.reader(io.StringIO(answer.stdout.decode(), newline=""))
    assert [row[1] for row in scored] == [label for _, label, _ in rows]
    own = [cell for row in (heading, *scored) for cell in row[3:]]
    assert [cell for cell in own if cell[:1] and cell[0] in "=+-@\t\r" and not re.fullmatch(r"-[\d.e-]+", cell)] == []


def test_of_generated_settings(tmp_path):
    """All that neighbours and Slurm may call themselves, at once: a name is there whole, or it is left out."""
    words = ("no", "null", "~", "1e5", "012", "1:30", "-x", ":", "a:b", "..", "2026-01-01", "0x1f", "<<", "é", "İ")
    texts = (*CUT, *words)
    interfaces = [{f"eth{n}": neighbour(n, text)} for n, text in enumerate(texts)]
    (tmp_path / "lldp.json").write_text(json.dumps({"lldp": {"interface": interfaces}}))
    (tmp_path / "nodes.json").write_text(json.dumps({"nodes": [{"name": f"n{text}"} for text in texts]}))
    done = CliRunner().invoke(
        app,
        [
            *("init", "--out", str(tmp_path), "--no-discover", "--no-ask", "--cluster", CUT[0][:60]),
            *("--lldp", f"node1={tmp_path / 'lldp.json'}", "--slurm-nodes", str(tmp_path / "nodes.json")),
            *("--exporter", "dcgm", "--gnmi", "sonic"),
        ],
    )
    assert done.exit_code == 0, done.exception
    assert ACTS.findall(done.stdout) == []
    inventory = (tmp_path / "inventory.yaml").read_text()
    assert ACTS.findall(inventory + (tmp_path / "fabricscope.yaml").read_text()) == []
    entities = parse_inventory(inventory, "x")
    devices = {one.name for one in entities.values() if isinstance(one, Device)}
    assert devices <= {"node1", *texts, *(f"n{text}" for text in texts)}
    assert devices >= {"no", "null", "1e5", "012", "1:30", "-x", "2026-01-01", "nnull"}
    assert "/../" not in "".join(devices)


def neighbour(number: int, text: str) -> dict[str, Any]:
    """One that says the text wherever it may say something, and an address behind it."""
    addresses = [text, f"10.0.{number // 256}.{number % 256}"]
    chassis = {"id": {}, "mgmt-ip": addresses, "capability": [{"type": "Bridge", "enabled": True}]}
    return {"chassis": {text: chassis}, "port": {"id": {"value": text}}}


def test_a_board_of_a_metric_that_there_is_not_is_refused(monkeypatch):
    board = boards.ALL[0]
    wrong = replace(board.panels[0], queries=(Query("avg(gpu_no_such_metric)"),))
    monkeypatch.setattr(boards, "ALL", (replace(board, panels=(wrong, *board.panels[1:])), *boards.ALL[1:]))
    answer = CliRunner().invoke(app, ["dashboards", "check"])
    assert answer.exit_code == 1
    assert answer.stdout == f"{board.uid} panel {wrong.id}: gpu_no_such_metric is not in the metric catalogue\n"
