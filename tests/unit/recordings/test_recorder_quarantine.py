"""A record that ends the recorder is put aside, and the others are recorded."""

from bus.base import Message
from bus.deadletter import REASON
from recordings.config import RecordingConfig
from recordings.manifest import Manifest
from recordings.reader import read_batches
from recordings.service import RecorderService
from telemetry import topics
from tests.unit.crashing import crash_on, crashes_until, dead_letters
from tests.unit.recordings.small_recording import batch
from tests.unit.traffic import publish_batches


async def test_the_others_are_recorded(bus, tmp_path, replace, monkeypatch):
    crash_on(monkeypatch, RecorderService, "_add", lambda recorder, writer, record: record.value == b"poison")
    await publish_batches(bus, batch(0))
    await bus.publish(topics.SAMPLES, [Message(b"leaf1", b"poison")])
    await publish_batches(bus, batch(1))
    config = RecordingConfig(path=tmp_path / "recording", slice_s=0.1)
    started: list[RecorderService] = []

    async def start() -> RecorderService:
        started.append(await replace(RecorderService(config, bus, Manifest())))
        return started[-1]

    assert await crashes_until(start, lambda: started[-1].samples_recorded == 6) == 3
    await started[-1].stop()
    assert [one.batch.collection.seq for one in read_batches(tmp_path / "recording")] == [0, 1]
    (letter,) = await dead_letters(bus)
    assert letter.headers[REASON] == b"crashed"
