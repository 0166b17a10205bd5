"""What each source that is polled promises, of schedulers' lists, the inventory, drives and file systems.

They read real programs, files and a server: recorded answers, then others in their place.
"""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from common.units import NS_PER_S
from ingest.collectors.base import ClusterEvent, CollectorContext, CollectorOutput, PollCollector
from ingest.config import IngestConfig
from ingest.ledger import Ledger
from ingest.registry import build_collectors
from ingest.service import IngestService
from telemetry import topics
from telemetry.changes import Change
from telemetry.codec.batch import BatchDecoder
from telemetry.codec.records import decode_record
from telemetry.samples import DownReason, SampleBatch
from telemetry.topology import TopologyFact
from tests.conformance.collectors.http_target import Server
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES
from tests.servers.answers import respond, silence
from tests.waiting import DEADLINE_S

NOW_NS = 1_760_000_000 * NS_PER_S


@dataclass(frozen=True)
class Source:
    """A section of the settings. page: what it reads. change: words of it, and others in their place.

    keys: of the cluster that change with them, or series. is_list: it gives facts, and no samples.
    """

    page: bytes
    change: tuple[bytes, bytes]
    keys: frozenset[str]
    is_list: bool = True

    @property
    def changed(self) -> bytes:
        assert self.change[0] in self.page
        return self.page.replace(*self.change)


def sample(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


SPARE = 'storage_drive_spare_ratio{device="node1",drive="nvme0"}'
READ = 'storage_read_bytes_total{device="node1",fs="scratch",side="client",system="gpfs"}'
SOURCES = {
    "job_sources": Source(sample("slurm/squeue_out.json"), (b'"cs75"', b'"cs76"'), frozenset({"job/26515966"})),
    "node_sources": Source(
        sample("slurm/slurmrestd_nodes.json"),
        (b"naboo147", b"naboo148"),
        frozenset({"node_state/naboo147", "node_state/naboo148"}),
    ),
    "kubernetes_sources": Source(
        sample("kubernetes/kube_state_metrics_pod_node_job.prom"),
        (b"127.0.0.1", b"10.0.0.7"),
        frozenset({"node_state/127.0.0.1", "node_state/10.0.0.7"}),
    ),
    "inventory": Source(
        b"devices: [{name: leaf1, role: leaf}]", (b"role: leaf", b"role: spine"), frozenset({"device/leaf1"})
    ),
    "nvme_sources": Source(
        sample("storage/nvme_smart_log.json"),
        (b'"avail_spare" : 100', b'"avail_spare" : 97'),
        frozenset({SPARE}),
        False,
    ),
    "mmpmon_sources": Source(
        sample("storage/gpfs_mmpmon_raw.txt"),
        (b"_br_ 205607400434", b"_br_ 205607409999"),
        frozenset({READ}),
        is_list=False,
    ),
}
LISTS = [name for name, source in SOURCES.items() if source.is_list]
VALUES = [name for name, source in SOURCES.items() if not source.is_list]
every_source = pytest.mark.parametrize("section", SOURCES)


class Stand:
    """What the sources read: a file, a program that prints it, and a server that answers with it."""

    def __init__(self, folder: Path, server: Server) -> None:
        self._folder, self._server = folder, server
        (folder / "drives" / "nvme0").mkdir(parents=True)

    def show(self, page: bytes, section: str = "") -> None:
        """section: to that source alone."""
        for name in [section] if section else SOURCES:
            self._file(name).write_bytes(page)
        self._server.answer = respond(page)

    def hang(self) -> None:
        (self._folder / "hangs").touch()
        self._server.answer = silence

    def go_on(self) -> None:
        (self._folder / "hangs").unlink()

    def vanish(self) -> None:
        for name in SOURCES:
            self._file(name).unlink()
        self._server.answer = respond(b"", status="404 Not Found")

    def settings(self, section: str, **more: Any) -> Any:
        """Of the section; the defaults but for where it reads."""
        file = self._file(section)
        program = f"test ! -e {self._folder / 'hangs'} || exec sleep 1000; cat {file}"
        command = {"command": ["sh", "-c", program], **more}
        device = {"device": "node1", **command}
        if section == "inventory":
            return {"file": str(file), **more}
        return {
            "job_sources": [{"gpu_jobs_only": False, **command}],
            "node_sources": [command],
            "kubernetes_sources": [{"url": f"http://{self._server.address}", **more}],
            "nvme_sources": [{"drives_folder": str(self._folder / "drives"), **device}],
            "mmpmon_sources": [device],
        }[section]

    def _file(self, section: str) -> Path:
        return self._folder / section


@pytest.fixture
def stand(tmp_path: Path, server: Server) -> Stand:
    return Stand(tmp_path, server)


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), lambda: NOW_NS, workers)
    workers.shutdown()


def made(stand: Stand, context: CollectorContext, section: str, **settings: Any) -> PollCollector:
    """Its only collector, as the process builds it."""
    config = IngestConfig.model_validate({section: stand.settings(section, **settings)})
    (found,) = build_collectors(config, context)
    (collector,) = found.polled
    return collector


def facts(output: CollectorOutput) -> list[ClusterEvent]:
    assert not isinstance(output, SampleBatch), output.collection.down
    return list(output)


def keys(output: CollectorOutput) -> set[str]:
    """What of the cluster it is about; starts and ends of jobs follow from these."""
    return {each.entity.key for each in facts(output) if isinstance(each, TopologyFact)}


def values(output: CollectorOutput) -> dict[str, float]:
    assert isinstance(output, SampleBatch)
    return dict(zip((output.table.keys[row] for row in output.series), output.values.tolist(), strict=True))


def down(output: CollectorOutput) -> DownReason | None:
    return output.collection.down if isinstance(output, SampleBatch) else None


@pytest.mark.parametrize("section", LISTS)
async def test_what_changed_in_a_list_is_given_once(stand: Stand, context: CollectorContext, section: str) -> None:
    source = SOURCES[section]
    stand.show(source.page)
    collector = made(stand, context, section)
    assert keys(await collector.collect(NOW_NS)) & source.keys
    assert facts(await collector.collect(NOW_NS + 1)) == []
    stand.show(source.changed)
    changed = await collector.collect(NOW_NS + 2)
    assert keys(changed) == source.keys
    assert {each.observed_ns for each in facts(changed) if isinstance(each, TopologyFact)} == {NOW_NS + 2}
    assert facts(await collector.collect(NOW_NS + 3)) == []
    await collector.stop()


@pytest.mark.parametrize("section", VALUES)
async def test_values_are_of_the_newest_answer_and_all_are_counted(
    stand: Stand, context: CollectorContext, section: str
) -> None:
    source = SOURCES[section]
    stand.show(source.page)
    collector = made(stand, context, section)
    before = await collector.collect(NOW_NS)
    stand.show(source.changed)
    after = await collector.collect(NOW_NS + 1)
    assert {key for key, value in values(after).items() if values(before)[key] != value} == source.keys
    assert isinstance(before, SampleBatch)
    assert isinstance(after, SampleBatch)
    assert (before.collection.seq, after.collection.seq) == (0, 1)
    assert set(after.times_ns.tolist()) == {NOW_NS + 1}
    assert before.table is after.table, "the same series"
    assert_accounted(context.ledger, [before, after])


@every_source
async def test_failures_are_down_with_a_reason_and_forget_nothing(
    stand: Stand, context: CollectorContext, section: str
) -> None:
    source = SOURCES[section]
    stand.show(source.page)
    collector = made(stand, context, section)
    good = await collector.collect(NOW_NS)
    failed = []
    for page in (b"", b"\x00\xff no answer of a program", source.page[: len(source.page) // 2]):
        if section == "inventory" and not page:
            continue  # which is an empty cluster
        stand.show(page)
        failed.append(await collector.collect(NOW_NS + 1))
    stand.vanish()
    failed.append(await collector.collect(NOW_NS + 1))
    reasons = [down(output) for output in failed]
    half_is_some = reasons[-2] is None and section == "mmpmon_sources"  # each line of it is an answer
    assert all(reasons[:-2] + reasons[-1:])
    assert reasons[-2] or half_is_some
    assert DownReason.INTERNAL not in reasons
    numbers = [output.collection.seq for output in failed if isinstance(output, SampleBatch)]
    assert numbers == list(range(1, 1 + len(numbers))), "each failure has the next number"
    assert not any(values(output) for output, reason in zip(failed, reasons, strict=True) if reason)
    stand.show(source.page)
    again = await collector.collect(NOW_NS + 2)
    assert facts(again) == [] if source.is_list else values(again) == values(good)


@every_source
async def test_an_answer_beyond_its_bound_is_refused(stand: Stand, context: CollectorContext, section: str) -> None:
    page = SOURCES[section].page
    stand.show(page)
    bound = {"file_bytes_max" if section == "inventory" else "body_bytes_max": len(page)}
    collector = made(stand, context, section, **bound)
    assert down(await collector.collect(NOW_NS)) is None
    stand.show(page + b"\n")
    reason = DownReason.BAD_FORMAT if section == "inventory" else DownReason.TOO_LARGE
    assert down(await collector.collect(NOW_NS)) is reason
    await collector.stop()


@pytest.mark.parametrize("section", [name for name in SOURCES if name != "inventory"])
async def test_a_source_that_hangs_is_down_at_the_deadline_and_may_be_given_up(
    stand: Stand, context: CollectorContext, section: str
) -> None:
    stand.show(SOURCES[section].page)
    patient, hasty = made(stand, context, section, timeout_s=60), made(stand, context, section, timeout_s=0.2)
    stand.hang()
    assert down(await hasty.collect(NOW_NS)) is DownReason.TIMEOUT
    collecting = asyncio.create_task(patient.collect(NOW_NS))
    await asyncio.sleep(0.1)  # however far it is by then
    collecting.cancel()
    await asyncio.wait([collecting])
    assert collecting.cancelled()
    stand.go_on()
    stand.show(SOURCES[section].page)
    assert down(await patient.collect(NOW_NS)) is None
    for collector in (patient, hasty):
        await collector.stop()


@every_source
async def test_stop_is_idempotent_and_a_collection_after_it_works(
    stand: Stand, context: CollectorContext, section: str
) -> None:
    stand.show(SOURCES[section].page)
    collector = made(stand, context, section)
    await collector.stop()
    assert down(await collector.collect(NOW_NS)) is None
    await collector.stop()
    await collector.stop()
    assert down(await collector.collect(NOW_NS + 1)) is None
    await collector.stop()


async def test_all_of_them_reach_the_bus_from_one_settings_file(stand: Stand, tmp_path: Path) -> None:
    for section, source in SOURCES.items():
        stand.show(source.page, section)
    stand.show(SOURCES["kubernetes_sources"].page, "kubernetes_sources")
    settings = {section: stand.settings(section, interval_s=1) for section in SOURCES}
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    service = IngestService(IngestConfig.model_validate(settings), bus)
    await service.start()
    reader = bus.consume([topics.SAMPLES, topics.TOPOLOGY, topics.CHANGES], {})
    wanted = {SPARE, READ, "job/26515966", "node_state/naboo147", "node_state/127.0.0.1", "device/leaf1", "job_start"}
    found: set[str] = set()
    async with asyncio.timeout(DEADLINE_S):
        while not wanted <= found:
            for record in await reader.poll(wait_s=0.2):
                value = record.value or b""
                if record.topic == topics.SAMPLES.name:
                    found |= values(BatchDecoder().decode(value, record.headers)).keys()
                elif record.topic == topics.TOPOLOGY.name:
                    found.add(decode_record(value, TopologyFact).entity.key)
                else:
                    found.add(str(decode_record(value, Change).kind))
    await service.stop()
    await reader.stop()
    await bus.stop()
