"""A record that ends a stage, on both engines, with real processes that die of it."""

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from bus import deadletter
from bus.base import Message
from bus.config import BusConfig
from bus.quarantine.notes import CRASHES_MAX, KILLS_MAX
from telemetry.topics import Topic
from tests.conformance.bus.reading import fresh_topic, numbered, read, running
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).parents[3]


@dataclass
class Stage:
    """A process that reads the topic from its beginning each time it is started."""

    folder: Path
    settings: dict[str, str]

    @property
    def notes(self) -> Path:
        return Path(self.settings["notes"])

    def run(self) -> tuple[int, list[int], str]:
        """Its exit status, the offsets that it has read, and its problem."""
        seen, settings = Path(self.settings["seen"]), self.folder / "settings.json"
        seen.write_text("")
        settings.write_text(json.dumps(self.settings))
        command = (sys.executable, "-m", "tests.conformance.bus.quarantined_reader", str(settings))
        answer = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
        offsets = [int(line.split()[1]) for line in seen.read_text().splitlines()]
        return answer.returncode, offsets, next(reversed(answer.stdout.splitlines()), "")


@pytest.fixture
def stage(config: BusConfig, tmp_path: Path) -> Stage:
    settings = {
        "bus": config.model_dump_json(),
        "topic": fresh_topic().name,
        "dead": fresh_topic().name,
        "notes": str(tmp_path / "stage.notes"),
        "seen": str(tmp_path / "seen"),
    }
    return Stage(tmp_path, settings)


@pytest.mark.parametrize(("value", "alone"), [("kill", KILLS_MAX), ("raise", CRASHES_MAX)])
async def test_what_ends_a_stage_repeatedly_is_put_aside_once(
    config: BusConfig, stage: Stage, value: str, alone: int
) -> None:
    topic, dead = (Topic(stage.settings[name]) for name in ("topic", "dead"))
    async with running(config) as bus:
        await bus.publish(topic, [*numbered(5), Message(b"k", value.encode(), {"table": b"t"}), *numbered(5)])
        runs = [await asyncio.to_thread(stage.run) for _ in range(1 + alone + 2)]
        (letter,) = await read(bus.consume([dead], {}), 1)
    others = [0, 1, 2, 3, 4, 6, 7, 8, 9, 10]
    assert [status == 0 for status, _, _ in runs] == [False] * (1 + alone) + [True, True]
    assert [offsets for _, offsets, _ in runs[1:-2]] == [[0, 1, 2, 3, 4]] * alone, "one at a time up to the one"
    assert [offsets for _, offsets, _ in runs[-2:]] == [others] * 2
    assert f"{topic.name}[0] 5 ended this stage repeatedly" in runs[-2][2]
    assert runs[-1][2] == "", "reported once"
    assert (letter.value, letter.headers["table"]) == (value.encode(), b"t")
    assert letter.headers[deadletter.REASON] == b"crashed"
    assert (letter.headers[deadletter.TOPIC], letter.headers[deadletter.OFFSET]) == (topic.name.encode(), b"5")


async def test_a_stage_that_ends_in_order_leaves_no_notes(config: BusConfig, stage: Stage) -> None:
    topic = Topic(stage.settings["topic"])
    async with running(config) as bus:
        await bus.publish(topic, numbered(3))
        assert await asyncio.to_thread(stage.run) == (0, [0, 1, 2], "")
        assert not stage.notes.exists()


async def test_several_of_them_are_put_aside_one_after_the_other(config: BusConfig, stage: Stage) -> None:
    topic, dead = (Topic(stage.settings[name]) for name in ("topic", "dead"))
    failing = Message(b"k", b"raise")
    async with running(config) as bus:
        await bus.publish(topic, [*numbered(2), failing, failing, *numbered(2)])
        for _ in range(8):
            status, offsets, _ = await asyncio.to_thread(stage.run)
            if status == 0:
                break
        letters = await read(bus.consume([dead], {}), 2)
    assert offsets == [0, 1, 4, 5]
    assert [letter.headers[deadletter.OFFSET] for letter in letters] == [b"2", b"3"]


async def test_notes_that_cannot_be_read_are_begun_again(config: BusConfig, stage: Stage) -> None:
    topic = Topic(stage.settings["topic"])
    async with running(config) as bus:
        await bus.publish(topic, numbered(3))
        stage.notes.write_bytes(b"\xff" * 5000)
        assert await asyncio.to_thread(stage.run) == (0, [0, 1, 2], "")


async def test_a_stage_works_where_no_notes_can_be_written(config: BusConfig, stage: Stage) -> None:
    topic = Topic(stage.settings["topic"])
    stage.notes.mkdir()
    async with running(config) as bus:
        await bus.publish(topic, numbered(3))
        assert await asyncio.to_thread(stage.run) == (0, [0, 1, 2], "")
