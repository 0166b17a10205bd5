"""Batches, facts and changes of an ingest process that had been replaced are left out, also after a restart."""

from pathlib import Path

from analytics.config import AnalyticsConfig
from analytics.worker import Worker
from bus.base import Record
from bus.owner.fence import EPOCH, ROLE
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.samples import SampleBatch
from telemetry.topics import Topic
from tests.unit.analytics.busy_cluster import FACTS, batches
from tests.unit.analytics.small_cluster import CONFIG

BATCHES = batches()[:4]


def record(offset: int, batch: SampleBatch, epoch: int, role: bytes = b"ingest-a") -> Record:
    value, headers = encode_batch(batch)
    owner = {EPOCH: b"%d" % epoch, ROLE: role}
    return Record(topics.SAMPLES.name, 0, offset, 0, b"", value, {**headers, **owner})


def fact(offset: int, epoch: int, topic: Topic = topics.TOPOLOGY) -> Record:
    value = encode_record(FACTS[offset])
    return Record(topic.name, 0, offset, 0, b"", value, {EPOCH: b"%d" % epoch, ROLE: b"ingest-a"})


def new_worker(folder: Path) -> Worker:
    return Worker(AnalyticsConfig(engine=CONFIG, state_dir=folder), topics.TOPOLOGY)


def test_what_a_replaced_ingest_publishes_is_counted_and_not_used(tmp_path: Path) -> None:
    worker = new_worker(tmp_path)
    records = [record(0, BATCHES[0], 5), record(1, BATCHES[1], 6), record(2, BATCHES[2], 5)]
    records.append(record(3, BATCHES[3], 2, b"ingest-b"))  # another role, whose owner is older
    worker.process_samples(records, (), bus_tells_time=False)
    counts = worker.engine.counts
    assert counts.dropped == {"stale_owner": len(BATCHES[2])}
    assert counts.samples_in == sum(map(len, BATCHES))
    assert counts.samples_in == counts.processed + counts.deduplicated + counts.held + len(BATCHES[2])
    stale = worker.process_cluster_records([fact(0, 5), fact(1, 6), fact(2, 5)]).stale
    assert [each.offset for each in stale] == [2]
    assert worker.mark.offsets[topics.TOPOLOGY.name, 0] == 3


def test_a_restart_decides_as_the_run_before(tmp_path: Path) -> None:
    """The snapshot knows of the owners up to where it has observed the bus, and of none beyond: what was read and waits
    for other partitions is read again.
    """
    worker = new_worker(tmp_path)
    first, second = record(0, BATCHES[0], 5), record(1, BATCHES[1], 5)
    newer, stale = record(2, BATCHES[2], 6), record(3, BATCHES[3], 5)
    worker.process_samples([first], (), bus_tells_time=False)
    worker.process_samples([second, newer], {(topics.SAMPLES.name, 1)}, bus_tells_time=False)  # which wait
    worker.save()
    again = new_worker(tmp_path)
    assert again.load(0) == "snapshot loaded"
    assert again.mark.offsets == {(topics.SAMPLES.name, 0): 1}
    again.process_samples([second, newer], (), bus_tells_time=False)
    assert again.engine.counts.dropped == {}
    while again.engine.ticks_uncorrelated:
        again.engine.correlate()
    again.save()
    third = new_worker(tmp_path)
    third.load(0)
    third.process_samples([stale], (), bus_tells_time=False)
    assert third.engine.counts.dropped == {"stale_owner": len(BATCHES[3])}
