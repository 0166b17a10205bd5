"""The recorder on a real bus: what it writes, what it skips, and where it continues."""

from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from bus.base import Bus, Message
from bus.owner.fence import EPOCH, ROLE
from common.errors import BadInput, ConfigError
from recordings.config import RecordingConfig
from recordings.manifest import Manifest, read_manifest
from recordings.reader import read_batches, read_topology_and_changes
from recordings.service import TOPICS, RecorderService
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from tests.unit.recordings.small_recording import CHANGE, LEAF, batch
from tests.unit.traffic import publish_batches
from tests.waiting import until


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"fabricscope_recorder_{name}_total", labels) or 0.0


def consumed() -> float:
    return sum(counted("records_received", topic=topic.name) for topic in TOPICS)


async def record(bus: Bus, folder: Path, records: int) -> RecorderService:
    """Records until so many records more are consumed, and stops."""
    before = consumed()
    recorder = RecorderService(RecordingConfig(path=folder), bus, Manifest(cluster="pod1"))
    await recorder.start()
    await until(lambda: consumed() >= before + records)
    await recorder.stop()
    return recorder


async def test_samples_topology_and_changes_are_recorded(bus, tmp_path):
    await bus.publish(topics.TOPOLOGY, [Message(LEAF.entity.key.encode(), encode_record(LEAF))])
    await bus.publish(topics.CHANGES, [Message(b"c1", encode_record(CHANGE))])
    await publish_batches(bus, batch(0), batch(1))
    before = counted("samples_recorded")
    recorder = await record(bus, tmp_path / "recording", 4)
    assert recorder.samples_recorded == 6
    assert counted("samples_recorded") == before + 6
    assert [one.batch.collection.seq for one in read_batches(tmp_path / "recording")] == [0, 1]
    assert set(read_topology_and_changes(tmp_path / "recording")) == {LEAF, CHANGE}


async def test_a_corrupt_record_is_counted_and_skipped(bus, tmp_path):
    before = counted("records_corrupt", topic=topics.SAMPLES.name, reason="schema")
    await bus.publish(topics.SAMPLES, [Message(b"leaf1", b"not a batch")])
    await publish_batches(bus, batch(0))
    recorder = await record(bus, tmp_path / "recording", 2)
    assert recorder.samples_recorded == 3
    assert counted("records_corrupt", topic=topics.SAMPLES.name, reason="schema") == before + 1


async def test_what_a_replaced_ingest_publishes_is_counted_and_not_recorded(bus, tmp_path):
    before = counted("records_dropped", reason="stale_owner")
    for seq, epoch in enumerate((b"5", b"6", b"5", b"6")):
        value, headers = encode_batch(batch(seq))
        owner = {EPOCH: epoch, ROLE: b"ingest-a"}
        await bus.publish(topics.SAMPLES, [Message(b"leaf1", value, {**headers, **owner})])
    await record(bus, tmp_path / "recording", 4)
    assert [one.batch.collection.seq for one in read_batches(tmp_path / "recording")] == [0, 1, 3]
    assert counted("records_dropped", reason="stale_owner") == before + 1


async def test_it_continues_where_it_stopped(bus, tmp_path):
    await publish_batches(bus, batch(0))
    await record(bus, tmp_path / "recording", 1)
    await publish_batches(bus, batch(1))
    await record(bus, tmp_path / "recording", 1)
    manifest = read_manifest(tmp_path / "recording")
    assert (manifest.cluster, len(manifest.slices)) == ("pod1", 2)
    assert [one.batch.collection.seq for one in read_batches(tmp_path / "recording")] == [0, 1]


async def test_a_folder_with_a_manifest_that_cannot_be_read_is_left_alone(bus, tmp_path):
    (tmp_path / "manifest.json").write_text('{"version": 99}')
    recorder = RecorderService(RecordingConfig(path=tmp_path), bus, Manifest())
    with pytest.raises(BadInput, match="version 99"):
        await recorder.start()
    await recorder.stop()
    assert (tmp_path / "manifest.json").read_text() == '{"version": 99}'


async def test_one_process_at_a_time_for_a_recording(bus, tmp_path):
    first, second = (RecorderService(RecordingConfig(path=tmp_path / "a"), bus, Manifest()) for _ in range(2))
    await first.start()
    with pytest.raises(ConfigError, match=r"recording.path .*/a: process \d+ on .* uses it"):
        await second.start()
    await second.stop()
    await first.stop()
    await second.start()
    await second.stop()


async def test_a_folder_that_is_no_recording_is_not_held_on(bus, tmp_path):
    (tmp_path / "manifest.json").write_text("{}[")
    with pytest.raises(BadInput):
        await RecorderService(RecordingConfig(path=tmp_path), bus, Manifest()).start()
    (tmp_path / "manifest.json").unlink()
    recorder = RecorderService(RecordingConfig(path=tmp_path), bus, Manifest())
    await recorder.start()
    await recorder.stop()
