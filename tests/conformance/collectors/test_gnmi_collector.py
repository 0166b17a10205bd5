"""The gNMI collector against small servers that misbehave in known ways: silence, ends, floods, deletes."""

import asyncio
import time
from typing import Any

import pytest
from structlog.testing import capture_logs

from ingest.collectors.gnmi.collector import GnmiCollector
from ingest.collectors.gnmi.config import LimitsConfig, Mode, PathConfig, SubscriptionConfig
from ingest.collectors.gnmi.decode.decoder import Decoder
from ingest.collectors.gnmi.paths.elements import parse_path
from ingest.ledger import DropReason, Ledger
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import DownReason
from tests.conformance.collectors.gnmi_peer import (
    SYNC,
    Behaviour,
    Emitted,
    Requests,
    Responses,
    collecting,
    job,
    response,
    serving,
    steady,
    steady_forever,
)
from tests.ledgers import assert_accounted


def stalling(seen: list[str]) -> Behaviour:
    """The first subscription falls silent while TCP lives on; the next one works."""

    async def stall(requests: Requests, context: Any) -> Responses:
        seen.append("subscribe")
        await anext(requests)
        yield SYNC
        yield response(("in-octets", len(seen)))
        if len(seen) == 1:
            await asyncio.sleep(3600)
        async for message in steady_forever():
            yield message

    return stall


async def test_samples_arrive_under_canonical_names() -> None:
    async with serving(steady) as address, collecting(job(address)) as (emitted, ledger):
        key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
        await emitted.until(lambda: len(emitted.values().get(key, [])) >= 3)
        assert emitted.values()[key][:3] == [0.0, 1.0, 2.0]
        assert ledger.drops.total() == 0
        assert_accounted(ledger, emitted.batches)
        assert [batch.collection.seq for batch in emitted.batches] == list(range(len(emitted.batches)))
        assert len({id(batch.table) for batch in emitted.batches}) == 1
        assert emitted.downs == []


async def test_what_nothing_maps_is_kept_where_the_job_asks() -> None:
    async def novel(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        yield response(("in-octets", 1), ("in-novelties", 2))
        yield SYNC
        await asyncio.sleep(3600)

    async with serving(novel) as address, collecting(job(address, unmapped="keep")) as (emitted, ledger):
        key = 'interfaces_interface_state_counters_in_novelties{device="leaf1",interface_name="Ethernet1"}'
        await emitted.until(lambda: key in emitted.values())
        assert emitted.values()[key] == [2.0]
        assert_accounted(ledger, emitted.batches)
        assert emitted.batches[-1].collection.unmapped == 0


async def test_silence_is_found_and_resubscribed() -> None:
    seen: list[str] = []
    async with serving(stalling(seen)) as address, collecting(job(address)) as (emitted, _):
        await emitted.until(lambda: DownReason.SILENT in emitted.downs)
        assert len(seen) == 1
        await emitted.until(lambda: len(seen) > 1 and emitted.batches[-1].collection.up)


async def test_a_device_that_never_syncs_is_used_anyway() -> None:
    async def unsynced(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        async for message in steady_forever():
            yield message

    with capture_logs() as logged:
        async with serving(unsynced) as address, collecting(job(address, sync_timeout_s=2.0)) as (emitted, _):
            await emitted.until(lambda: "target never sent sync_response" in [line["event"] for line in logged])
            known = sum(map(len, emitted.batches))
            await emitted.until(lambda: sum(map(len, emitted.batches)) > known + 3)
            assert emitted.downs == []


async def test_a_device_that_neither_syncs_nor_sends_is_down() -> None:
    async def mute(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        await asyncio.sleep(3600)
        yield SYNC

    on_change = SubscriptionConfig(paths=(PathConfig(path="/interfaces", mode=Mode.ON_CHANGE),))
    changes = {"subscriptions": (on_change,), "sync_timeout_s": 0.5}
    async with serving(mute) as address, collecting(job(address, **changes)) as (emitted, _):
        await emitted.until(lambda: DownReason.TIMEOUT in emitted.downs)


async def test_a_clean_end_of_stream_is_a_failure() -> None:
    calls: list[int] = []

    async def closing(requests: Requests, context: Any) -> Responses:
        calls.append(1)
        await anext(requests)
        yield SYNC
        yield response(("in-octets", len(calls)))

    async with serving(closing) as address, collecting(job(address)) as (emitted, _):
        await emitted.until(lambda: len(calls) >= 3 and DownReason.CLOSED in emitted.downs)
        assert set(emitted.downs) == {DownReason.CLOSED}


async def test_a_flood_is_cut_to_the_quota_and_counted() -> None:
    async def flooding(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        yield SYNC
        many = [(f"in-{kind}", n) for n, kind in enumerate(["octets", "errors", "discards", "unicast-pkts"])]
        while True:
            yield response(*many)

    limits = LimitsConfig(updates_per_s=100, bytes_per_s=1_000_000)
    began_s = time.monotonic()
    async with serving(flooding) as address, collecting(job(address, limits=limits)) as (emitted, ledger):
        await emitted.until(lambda: ledger.drops[DropReason.QUOTA] > 1000)
        handed_on = sum(len(batch) for batch in emitted.batches)
        assert 0 < handed_on <= 200 + 100 * (time.monotonic() - began_s)
        assert ledger.samples_in == handed_on + ledger.drops[DropReason.QUOTA]


async def test_a_message_above_the_limit_is_refused_with_a_reason() -> None:
    async def huge(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        yield response(*((f"leaf-{n}", n) for n in range(2000)))

    limits = LimitsConfig(message_bytes_max=10_000)
    async with serving(huge) as address, collecting(job(address, limits=limits)) as (emitted, _):
        await emitted.until(lambda: DownReason.TOO_LARGE in emitted.downs)


async def test_an_absent_device_is_down_each_interval() -> None:
    async with collecting(job("127.0.0.1:1")) as (emitted, _):
        await emitted.until(lambda: len(emitted.downs) >= 3)
        assert set(emitted.downs) == {DownReason.REFUSED}


async def test_a_fault_of_ours_is_down_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a bug")

    monkeypatch.setattr(Decoder, "decode", fail)
    async with serving(steady) as address:
        config, emitted = job(address), Emitted()
        with pytest.raises(ExceptionGroup):
            await GnmiCollector(config, config.targets[0], Ledger(0)).run(emitted)
    assert emitted.downs[-1] is DownReason.INTERNAL


async def test_a_delete_ends_the_series_and_an_update_brings_it_back() -> None:
    gate: asyncio.Queue[gnmi_pb2.SubscribeResponse] = asyncio.Queue()

    async def scripted(requests: Requests, context: Any) -> Responses:
        await anext(requests)
        while True:
            yield await gate.get()

    deleted = gnmi_pb2.SubscribeResponse()
    deleted.update.timestamp = time.time_ns()
    deleted.update.delete.append(parse_path("/interfaces/interface[name=Ethernet1]"))
    octets = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
    long = SubscriptionConfig(paths=(PathConfig(path="/interfaces", interval_s=60),))
    async with serving(scripted) as address, collecting(job(address, subscriptions=(long,))) as (emitted, _):
        other = "/interfaces/interface[name=Ethernet2]/state/counters"
        gate.put_nowait(response(("in-octets", 1)))
        gate.put_nowait(response(("in-octets", 1), prefix=other))
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 2)
        gate.put_nowait(deleted)
        gate.put_nowait(response(("in-octets", 2), prefix=other))
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 3)
        gate.put_nowait(response(("in-octets", 3), prefix=other))
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 4)
        assert octets not in emitted.batches[-1].table.keys
        gate.put_nowait(response(("in-octets", 9)))
        await emitted.until(lambda: emitted.values()[octets][-1] == 9.0)
