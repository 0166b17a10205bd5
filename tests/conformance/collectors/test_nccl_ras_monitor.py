"""The stream of NCCL's RAS over TCP: events are samples, and the status is asked again when something happens."""

import asyncio
import time
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from structlog.testing import capture_logs

from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.nccl_ras.config import Config
from ingest.collectors.nccl_ras.monitor import MonitoredJob, monitored_jobs
from ingest.config import IngestConfig
from ingest.ledger import DropReason, Ledger
from ingest.one_target import read_target
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.ras_server import Ras, refusing, serving
from tests.ledgers import assert_accounted

HOSTS = {"172.16.64.245": "node7"}
MONITOR = "MONITOR lifecycle,trace"
OFTEN = {"interval_s": 1, "timeout_s": 1}
RARELY = {"interval_s": 3600, "timeout_s": 30}
SUSPECT = 'nccl_host_ranks{device="node7",job_id="7",state="unresponsive"}'


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


def make(context: CollectorContext, *addresses: str, **settings: Any) -> MonitoredJob:
    target = {"device": "node1", "job_id": "7", "addresses": addresses, "monitor": True}
    (made,) = monitored_jobs([Config.model_validate({"targets": [target], "hosts": HOSTS, **settings})], context)
    return made


class Output:
    """What a job emits. emitted: all of it so far."""

    def __init__(self) -> None:
        self.emitted: list[SampleBatch] = []
        self._queue: asyncio.Queue[SampleBatch] = asyncio.Queue()

    def emit(self, output: CollectorOutput) -> None:
        assert isinstance(output, SampleBatch)
        self.emitted.append(output)
        self._queue.put_nowait(output)

    async def next(self) -> SampleBatch:
        return await self._queue.get()

    async def with_series(self, part: str) -> dict[str, float]:
        """The first batch with such a series."""
        while True:
            found = values(await self.next())
            if any(part in key for key in found):
                return found


@asynccontextmanager
async def running(job: MonitoredJob) -> AsyncIterator[Output]:
    output = Output()
    task = asyncio.create_task(job.run(output.emit))
    try:
        yield output
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled(), task


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


def said(name: str, *, is_json: bool, process: int = 1524345) -> bytes:
    """As RAS says it, in local time without a zone."""
    at = datetime.now().astimezone().strftime("%Y-%m-%d %H:%M:%S")
    if not is_json:
        return f"[{at}] {name}: Process {process} on node 172.16.64.245 managing GPU 1 \n".encode()
    return (
        f'{{\n  "timestamp": "{at}",\n  "group": "LIFECYCLE",\n  "event": "{name}",\n  "peer": {{\n'
        f'    "host": "172.16.64.245",\n    "pid": {process},\n    "cuda_devs": [1],\n    "nvml_devs": [1]\n  }},\n'
        '  "details": ""\n}\n'
    ).encode()


def event_key(event: str, process: int = 1524345) -> str:
    labels = f'device="node7",event="{event}",gpus="1",job_id="7",process="{process}"'
    return f"nccl_process_event_timestamp_seconds{{{labels}}}"


@pytest.mark.parametrize("is_json", [True, False])
async def test_what_happens_is_in_a_status_that_is_asked_at_once(
    ras: Ras, context: CollectorContext, is_json: bool
) -> None:
    ras.knows_json = is_json
    job = make(context, ras.address, **RARELY)
    async with running(job) as output:
        stream = await ras.monitors.get()
        first = values(await output.next())
        began_s = time.time()
        stream.write(said("PEER_DEAD", is_json=is_json))
        found = values(await output.next())
    assert {key for key in found if key not in first} == {event_key("dead")}
    assert began_s - 2 < found[event_key("dead")] <= time.time()
    assert not is_json or found[SUSPECT] == 1.0
    assert not job.unmapped
    assert ras.commands.count(MONITOR) == 1
    assert_accounted(context.ledger, output.emitted)


async def test_a_target_that_is_tested_gives_the_same_as_one_that_is_only_asked(ras: Ras) -> None:
    found = []
    for monitor in (False, True):
        target = {"device": "node1", "addresses": [ras.address], "monitor": monitor}
        config = IngestConfig.model_validate({"nccl_ras_sources": [{"targets": [target]}]})
        found.append(await read_target(config, time.time_ns, 20.0, ras.address))
    assert found[1] == replace(found[0], duration_s=found[1].duration_s, events=[])
    assert not found[0].problem
    assert len(found[0].values) == 8


async def test_an_event_stays_for_the_next_status_and_no_second_one_is_asked_for_others(
    ras: Ras, context: CollectorContext
) -> None:
    async with running(make(context, ras.address, **RARELY)) as output:
        stream = await ras.monitors.get()
        await output.next()
        steps = b"".join(said(name, is_json=True) for name in ("PEER_NEW", "PEER_RETRY", "PEER_TIMEOUT_DEAD", "SOON"))
        stream.write(steps + said("PEER_UNRESPONSIVE", is_json=True) + said("PEER_RECOVERED", is_json=True))
        found = values(await output.next())
    assert {key for key in found if "event" in key} == {event_key("unresponsive"), event_key("recovered")}
    assert len(output.emitted) == 2
    assert context.ledger.samples_unmapped == 1, "the event that no release has"
    assert_accounted(context.ledger, output.emitted)


async def test_nccl_before_2_29_is_asked_for_its_status_and_that_is_said_once(
    ras: Ras, context: CollectorContext
) -> None:
    ras.knows_monitor = False
    with capture_logs() as logs:
        async with running(make(context, ras.address, **OFTEN)) as output:
            for _ in range(3):
                assert (await output.next()).collection.up
    assert ras.commands.count(MONITOR) == 1
    assert [entry["reason"] for entry in logs if "events" in entry["event"]] == [
        "its NCCL knows no MONITOR, which came with 2.29"
    ]


async def test_a_stream_that_ends_is_opened_again_at_the_next_address_that_greets(
    ras: Ras, context: CollectorContext
) -> None:
    async with running(make(context, await refusing(), ras.address, **OFTEN)) as output:
        for _ in range(2):
            (await ras.monitors.get()).close()
        (await ras.monitors.get()).write(said("PEER_DEAD", is_json=True))
        assert event_key("dead") in await output.with_series("event")


async def test_a_process_that_gives_no_sign_of_life_is_left(ras: Ras, context: CollectorContext) -> None:
    ras.answers_monitors = False  # as one that was stopped: it closes nothing
    async with serving() as other, running(make(context, ras.address, other.address, **OFTEN)):
        await ras.monitors.get()
        ras.greeting = b""
        await other.monitors.get()
    assert ras.commands[ras.commands.index(MONITOR) :].count("CLIENT PROTOCOL 2") > 1


async def test_a_quiet_stream_stays_open(ras: Ras, context: CollectorContext) -> None:
    async with running(make(context, ras.address, **OFTEN)) as output:
        await ras.monitors.get()
        for _ in range(4):
            await output.next()
    assert ras.commands.count(MONITOR) == 1


async def test_a_job_that_ends_at_once_has_said_why(ras: Ras, context: CollectorContext) -> None:
    job = make(context, ras.address, **OFTEN)

    async def nothing(_: asyncio.StreamWriter) -> None:
        """RAS closes like this when its process ends."""

    with capture_logs() as logs:
        async with running(job) as output:
            stream = await ras.monitors.get()
            await output.next()
            ras.status = nothing
            stream.write(said("PEER_DEAD", is_json=True))
            stream.close()
            ras.greeting = b"gone\n"
            assert set(await output.with_series("event")) == {event_key("dead")}
            while (batch := await output.next()).collection.up:
                pass
    assert batch.collection.down in (DownReason.CLOSED, DownReason.BAD_FORMAT)
    assert {entry["log_level"] for entry in logs if "events" in entry["event"]} == {"info"}
    assert_accounted(context.ledger, output.emitted)


async def test_what_is_no_event_and_what_there_is_no_room_for_is_counted(ras: Ras, context: CollectorContext) -> None:
    job = make(context, ras.address, limits={"events_max": 2}, **OFTEN)
    async with running(job) as output:
        stream = await ras.monitors.get()
        stream.write(b"x" * 100_000 + b"\nwhat is this\n")
        events = [said("PEER_DEAD", is_json=True, process=number) for number in range(5)]
        stream.write(b"".join(events))
        await output.with_series("event")
    assert context.ledger.drops == {DropReason.BAD_FORMAT: 2, DropReason.QUOTA: 3}
    assert_accounted(context.ledger, output.emitted)
