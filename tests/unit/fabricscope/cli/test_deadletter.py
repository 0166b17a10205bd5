"""``deadletter list``, ``show`` and ``replay`` on both engines: real letters, as people type the commands."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from bus.base import Bus, Message, Record
from bus.deadletter import dead_letter
from bus.owner.fence import EPOCH, ROLE
from common.errors import BadInput, ConfigError
from fabricscope.cli import app
from fabricscope.commands.audited import login_name
from fabricscope.commands.deadletter import SHOWN_BYTES
from fabricscope.settings import load_settings
from telemetry import topics
from telemetry.codec.records import encode_record
from tests.conformance.bus.reading import running
from tests.unit.recordings.small_recording import CHANGE

HEADERS = {"trace": b"7", EPOCH: b"5", ROLE: b"ingest-a"}  # of an owner who may be replaced by now
GOOD, BAD, TERMINAL = encode_record(CHANGE), b'{"id": 3}', b"\x1b[2J\x1b]0;title\x07\xff" + bytes(2 * SHOWN_BYTES)


@dataclass
class Cluster:
    """A settings file whose bus has dead letters. numbers: of those, by the value of the original."""

    settings: Path
    numbers: dict[bytes, int]

    def __call__(self, *arguments: object, answer: str = "") -> Result:
        command = ["deadletter", *map(str, arguments), "--config", str(self.settings)]
        return CliRunner().invoke(app, command, input=answer, env={"COLUMNS": "200"})

    def on_the_bus(self, topic: topics.Topic) -> list[Record]:
        return asyncio.run(self._with_bus(lambda bus: _all(bus, topic)))

    async def _with_bus(self, work: Callable[[Bus], Awaitable[list[Record]]]) -> list[Record]:
        async with running(load_settings(self.settings).bus) as bus:
            return await work(bus)


async def _all(bus: Bus, topic: topics.Topic) -> list[Record]:
    reader, found = bus.consume([topic], {}), list[Record]()
    while not await reader.at_end():
        found += await reader.poll(wait_s=0.1)
    return found


async def _put_aside(bus: Bus) -> list[Record]:
    """A change that is good by now, one that is not, one that is made for terminals, one of a foreign topic."""
    place = {"partition": 0, "appended_ns": 1}
    for n, value in enumerate((GOOD, BAD, TERMINAL)):
        record = Record(topics.CHANGES.name, offset=40 + n, key=b"c1", value=value, headers=HEADERS, **place)
        await dead_letter(bus, record, BadInput("expected\x1b[31m a Change", "schema"))
    await dead_letter(bus, Record("theirs.v1", offset=3, key=b"k", value=b"x", headers={}, **place), BadInput("x", "y"))
    return await _all(bus, topics.DEADLETTER)


@pytest.fixture(params=["embedded", "kafka"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Cluster:
    document: dict[str, object] = {"global": {"data_dir": str(tmp_path)}}
    if request.param == "kafka":
        address = request.getfixturevalue("kafka").address
        document["bus"] = {"kind": "kafka", "kafka": {"bootstrap": [address]}}
    made = Cluster(tmp_path / "fabricscope.yaml", {})
    made.settings.write_text(yaml.safe_dump(document))
    letters = asyncio.run(made._with_bus(_put_aside))
    made.numbers = {letter.value or b"": letter.offset for letter in letters}
    return made


def test_they_are_listed_shown_and_replayed(cluster: Cluster) -> None:
    before = len(cluster.on_the_bus(topics.CHANGES))
    good, bad, terminal, theirs = (cluster.numbers[value] for value in (GOOD, BAD, TERMINAL, b"x"))

    lines = [line.split() for line in cluster("list").output.splitlines()]
    assert lines[0] == ["number", "age", "bytes", "reason", "topic", "partition", "offset"]
    listed = {line[0]: line[2:] for line in lines[1:]}
    assert listed[str(good)] == [str(len(GOOD)), "schema", topics.CHANGES.name, "0", "40"]
    assert listed[str(theirs)] == ["1", "y", "theirs.v1", "0", "3"]

    shown = cluster("show", terminal).output
    assert all(character.isprintable() for character in shown.replace("\n", ""))
    assert r"\x1b[2J\x1b]0;title\x07\xff" in shown
    assert len(shown) < 5 * SHOWN_BYTES
    assert f"and {len(TERMINAL) - SHOWN_BYTES} bytes more" in shown
    assert "header trace: 7" in shown
    assert f"was at: {topics.CHANGES.name}[0] 42" in shown
    assert cluster("show", 10**6).exit_code == 1

    declined = cluster("replay", good, answer="n\n")
    assert f"publish {len(GOOD)} bytes again to {topics.CHANGES.name}?" in declined.output
    assert declined.exit_code == 1
    assert len(cluster.on_the_bus(topics.CHANGES)) == before

    refused = cluster("replay", bad, theirs, "--yes")
    assert f"{bad}: left out: Change: " in refused.output
    assert f"{theirs}: left out: theirs.v1: expected one of the topics" in refused.output
    assert refused.exit_code == 1
    assert len(cluster.on_the_bus(topics.CHANGES)) == before

    replayed = cluster("replay", good, good, answer="y\n")
    assert f"{good}: published to {topics.CHANGES.name}" in replayed.output
    assert replayed.exit_code == 0
    records = cluster.on_the_bus(topics.CHANGES)
    assert len(records) == before + 1
    assert Message(records[-1].key, records[-1].value, records[-1].headers) == Message(b"c1", GOOD, {"trace": b"7"})
    (line,) = (cluster.settings.parent / "api" / "audit.jsonl").read_text().splitlines()
    audited = json.loads(line)
    assert (audited["action"], audited["result"], audited["letter"]) == ("deadletter replay", "done", str(good))
    assert audited["was_at"] == f"{topics.CHANGES.name}[0] 40"
    assert audited["login"] == login_name()


def test_no_bus_is_made(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(f"global: {{data_dir: {tmp_path / 'none'}}}\n")
    answer = CliRunner().invoke(app, ["deadletter", "list", "--config", str(tmp_path / "a.yaml")])
    assert isinstance(answer.exception, ConfigError)
    assert not (tmp_path / "none").exists()
