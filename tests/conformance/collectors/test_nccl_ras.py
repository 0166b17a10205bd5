"""The collector of NCCL's RAS over TCP, with a server that speaks its protocol, old and new, and some that do not."""

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.nccl_ras.collector import NcclRasCollector, nccl_ras_collectors
from ingest.collectors.nccl_ras.config import Config
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.ras_server import JSON, Answer, Ras, refusing
from tests.ledgers import assert_accounted

MISSING = 'nccl_missing_ranks{device="node1",job_id="7",ranks="2"}'


@pytest.fixture
def context() -> Iterator[CollectorContext]:
    workers = ThreadPoolExecutor(1)
    yield CollectorContext(Ledger(0), time.time_ns, workers)
    workers.shutdown()


def make(context: CollectorContext, *addresses: str, **settings: Any) -> NcclRasCollector:
    target = {"device": "node1", "job_id": "7", "addresses": addresses}
    (made,) = nccl_ras_collectors([Config.model_validate({"targets": [target], **settings})], context)
    return made


async def collected(collector: NcclRasCollector) -> SampleBatch:
    batch = await collector.collect(time.time_ns())
    assert isinstance(batch, SampleBatch)
    return batch


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


async def test_a_reply_in_json_is_collected_and_every_sample_counted(ras: Ras, context: CollectorContext) -> None:
    collector = make(context, ras.address, hosts={"172.16.64.245": "node7"})
    batches = [await collected(collector) for _ in range(2)]
    assert values(batches[0])[MISSING] == 1.0
    assert values(batches[0])['nccl_host_ranks{device="node7",job_id="7",state="unresponsive"}'] == 1.0
    assert [batch.collection.seq for batch in batches] == [0, 1]
    assert batches[0].table is batches[1].table
    assert ras.commands == ["CLIENT PROTOCOL 2", "SET FORMAT json", "STATUS"] * 2, "one query a collection"
    assert not collector.unmapped
    assert_accounted(context.ledger, batches)


async def test_a_release_without_json_is_asked_for_text(ras: Ras, context: CollectorContext) -> None:
    ras.knows_json = False
    batch = await collected(make(context, ras.address))
    assert values(batch)['nccl_communicators{device="node1",job_id="7",ranks="4"}'] == 1.0
    assert ras.commands[-1] == "VERBOSE STATUS"
    assert_accounted(context.ledger, [batch])


async def test_the_next_address_is_asked_where_nobody_greets(ras: Ras, context: CollectorContext) -> None:
    silent = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)  # a process that stands still
    hanging = f"127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    other = Ras()
    other.greeting = b"HTTP/1.1 400 Bad Request\r\n"
    wrong = await asyncio.start_server(other.serve, "127.0.0.1", 0)
    stranger = f"127.0.0.1:{wrong.sockets[0].getsockname()[1]}"
    collector = make(context, await refusing(), hanging, stranger, ras.address, timeout_s=5)
    assert values(await collected(collector))[MISSING] == 1.0
    silent.close()
    wrong.close()


async def say(body: bytes, writer: asyncio.StreamWriter) -> None:
    writer.write(body)


async def endless(writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b" " * 10_000)
        await writer.drain()


async def silence(_: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def cut_off(writer: asyncio.StreamWriter) -> None:
    writer.write(JSON[:100])
    await writer.drain()
    writer.close()


async def nothing(_: asyncio.StreamWriter) -> None:
    """RAS closes like this when it fails itself."""


@pytest.mark.parametrize(
    ("status", "settings", "reason"),
    [
        (endless, {"limits": {"body_bytes_max": 100_000}}, DownReason.TOO_LARGE),
        (silence, {"timeout_s": 2.0}, DownReason.TIMEOUT),
        (cut_off, {}, DownReason.BAD_FORMAT),
        (nothing, {}, DownReason.CLOSED),
        (lambda writer: say(JSON, writer), {"limits": {"ranks_max": 1}}, DownReason.TOO_LARGE),
    ],
)
async def test_a_bad_answer_has_a_reason_and_the_next_good_one_is_up(
    ras: Ras, context: CollectorContext, status: Answer, settings: dict[str, Any], reason: DownReason
) -> None:
    ras.status = status
    collector = make(context, ras.address, **settings)
    batch = await collected(collector)
    assert (batch.collection.down, len(batch)) == (reason, 0)
    assert ras.commands.count("STATUS") == 1, "the job is not asked again over another address"
    if "limits" not in settings or "ranks_max" not in settings["limits"]:
        ras.status = None
        assert (await collected(collector)).collection.up


@pytest.mark.parametrize(
    ("greeting", "reason"), [(b"x" * 10_000, DownReason.BAD_FORMAT), (b"220 smtp\n", DownReason.BAD_FORMAT)]
)
async def test_another_service_is_not_read(
    ras: Ras, context: CollectorContext, greeting: bytes, reason: DownReason
) -> None:
    ras.greeting = greeting
    assert (await collected(make(context, ras.address))).collection.down is reason
    assert ras.commands == ["CLIENT PROTOCOL 2"]


async def test_a_job_that_has_ended_is_refused(context: CollectorContext) -> None:
    assert (await collected(make(context, await refusing()))).collection.down is DownReason.REFUSED


@pytest.mark.parametrize("address", ["http://a/", "a:b", "a@b", "", "a:99999"])
def test_an_address_that_is_none_is_refused(context: CollectorContext, address: str) -> None:
    with pytest.raises(ValueError, match="addresses"):
        make(context, address)
