"""A recording says which records of the bus it does not have."""

from recordings.config import RecordingConfig
from recordings.manifest import Manifest, read_manifest
from recordings.reader import read_batches
from recordings.service import RecorderService
from telemetry import topics
from tests.unit.recordings.small_recording import batch
from tests.unit.traffic import publish_batches
from tests.waiting import until


async def test_a_gap_is_in_the_manifest_and_what_follows_is_recorded(bus, tmp_path):
    """It had seen more than the bus still has: the log was replaced while nobody recorded."""
    await publish_batches(bus, batch(0))
    (place,) = [where for where, offset in (await bus.offsets_since([topics.SAMPLES], 2**62)).items() if offset]
    seen = Manifest(offsets={f"{place[0]}/{place[1]}": 9})
    recorder = RecorderService(RecordingConfig(path=tmp_path / "recording", slice_s=0.1), bus, seen)
    await recorder.start()
    await until(lambda: recorder.samples_recorded == 3)
    await recorder.stop()
    manifest = read_manifest(tmp_path / "recording")
    (gap,) = manifest.gaps
    assert place[0] in gap
    assert [one.batch.collection.seq for one in read_batches(tmp_path / "recording")] == [0]
