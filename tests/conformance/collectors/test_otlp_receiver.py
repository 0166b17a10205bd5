"""The OTLP receiver beside OpenTelemetry's own exporter, and beside clients that do what they should not."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.metrics import Counter, Histogram, MeterProvider
from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource

from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.config import IngestConfig
from ingest.ledger import DropReason
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.otlp_receiving import (
    OCTETS,
    PORT,
    UP,
    export_on,
    now,
    receiving,
    state,
)
from tests.unit.ingest.otlp.requests import RULE, gauge, response_of

# ---- OpenTelemetry's own exporter


def measure(exporter: MetricExporter, device: str = "leaf1") -> MeterProvider:
    """A gauge, a counter and a histogram of port swp1."""
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3600e3)
    provider = MeterProvider([reader], Resource({"host.name": device, "service.name": "agent"}))
    meter = provider.get_meter("tests")

    def observe(options: CallbackOptions) -> Iterable[Observation]:
        return [Observation(1, PORT)]

    meter.create_observable_gauge("state", [observe])
    meter.create_counter("octets").add(4096, PORT)
    histogram = meter.create_histogram("depth")
    for depth in (10, 300):
        histogram.record(depth, PORT)
    return provider


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_what_the_official_exporter_sends_arrives(compression: grpc.Compression) -> None:
    async with receiving() as here:
        exporter = OTLPMetricExporter(endpoint=f"http://{here.address}", insecure=True, compression=compression)
        provider = measure(exporter)
        assert await asyncio.to_thread(provider.force_flush)
        assert here.values == {
            UP: [1.0],
            OCTETS: [4096.0],
            'fabric_port_flaps_total{device="leaf1",port="swp1"}': [2.0],
            'fabric_port_transmit_bytes_total{device="leaf1",port="swp1"}': [310.0],
        }
        assert await asyncio.to_thread(provider.force_flush)
        assert {key: len(values) for key, values in here.values.items()} == dict.fromkeys(here.values, 2)
        assert here.ledger.drops.total() == 0
        batches = here.emitted.batches
        assert [batch.collection.seq for batch in batches] == [0, 1]
        assert {(batch.table.target, batch.table.device) for batch in batches} == {("otlp/leaf1", "leaf1")}
        await asyncio.to_thread(provider.shutdown)


async def test_an_exporter_of_changes_is_refused_and_counted() -> None:
    async with receiving() as here:
        delta = {Counter: AggregationTemporality.DELTA, Histogram: AggregationTemporality.DELTA}
        exporter = OTLPMetricExporter(
            endpoint=f"http://{here.address}",
            insecure=True,
            preferred_temporality=delta,  # type: ignore[arg-type]
        )
        provider = measure(exporter)
        await asyncio.to_thread(provider.force_flush)
        assert here.values == {UP: [1.0]}
        assert here.ledger.drops == {DropReason.BAD_FORMAT: 2}
        await asyncio.to_thread(provider.shutdown)


async def test_an_exporter_whose_receiver_comes_later_loses_nothing() -> None:
    """It tries again by itself: first nobody listens, then the receiver does."""
    async with receiving() as first:
        address = first.address
    exporter = OTLPMetricExporter(endpoint=f"http://{address}", insecure=True)
    provider = measure(exporter)
    flushing = asyncio.create_task(asyncio.to_thread(provider.force_flush))
    async with receiving(listen=address) as here:
        await here.emitted.until(lambda: here.values)
        await flushing
        assert here.values[OCTETS] == [4096.0]
        await asyncio.to_thread(provider.shutdown)


# ---- who may push


# ---- limits and failures


def retry_delay_s(error: grpc.aio.AioRpcError) -> float:
    """What the error says in RetryInfo, as exporters read it."""
    (details,) = [value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin"]
    status, info = Status.FromString(details), RetryInfo()
    assert (status.code, status.message) == (error.code().value[0], error.details())
    assert status.details[0].Unpack(info)
    return float(info.retry_delay.ToNanoseconds() / 1e9)


@pytest.mark.parametrize("limits", [{"messages_per_s": 1}, {"bytes_per_s": 100}])
async def test_too_much_of_one_sender_is_refused_until_it_may_come(limits: dict[str, float]) -> None:
    async with receiving(limits=limits) as here:
        error = None
        for n in range(10):
            try:
                await here.export(now(state(n % 2)))
            except grpc.aio.AioRpcError as refused:
                error = refused
                break
        assert error is not None
        assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert 0 < retry_delay_s(error) <= 2.0
        assert here.ledger.samples_in == n


async def test_when_too_much_waits_the_sender_is_asked_to_wait() -> None:
    """Two requests are being decoded, which is as many as may be; the third one is refused and loses nothing."""
    async with receiving(limits={"waiting_max": 2}) as here:
        held = await here.hold()
        first = [asyncio.create_task(here.export(now(state(port=f"swp{n}")))) for n in range(2)]
        for _ in first:
            await held.asked.acquire()
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await here.export(now(state()))
        assert failure.value.code() is grpc.StatusCode.UNAVAILABLE
        assert retry_delay_s(failure.value) == 1.0
        held.release()
        assert await asyncio.gather(*first) == [b"", b""]
        assert here.ledger.samples_in == 2


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
async def test_a_message_above_the_limit_is_refused_and_the_next_one_taken(compression: grpc.Compression) -> None:
    """Compressed, it is 20 KB: what counts is what becomes of it."""
    async with receiving(limits={"message_bytes_max": 1 << 20}) as here:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await here.export(bytes(20 << 20), compression=compression)
        assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await here.export(now(state()), compression=compression)
        assert here.values == {UP: [1.0]}


async def test_what_is_no_request_is_refused_for_good() -> None:
    async with receiving() as here:
        with pytest.raises(grpc.aio.AioRpcError) as failure:
            await here.export(b"\xff" * 100)
        assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        await here.export(now(state()))
        assert here.values == {UP: [1.0]}


async def test_partial_success_says_how_many_and_why() -> None:
    async with receiving() as here:
        metric = gauge("state", (PORT, 1), ({"interface": "swp2"}, float("nan")), at_ns=time.time_ns())
        partial = response_of(await here.export(now(metric))).partial_success
        assert (partial.rejected_data_points, partial.error_message) == (1, "samples refused: 1 no_value")


async def test_a_sender_that_does_not_wait_loses_nothing() -> None:
    """What is decoded counts as known: it is delivered although nobody hears the answer, and its repetition is none."""
    async with receiving() as here:
        data = now(state())
        held = await here.hold()
        async with grpc.aio.insecure_channel(here.address) as channel:
            call = export_on(channel)(data)
            await held.asked.acquire()
            call.cancel()
        held.release()
        await here.emitted.until(lambda: here.values)
        assert await here.export(data) == b""
        assert here.values == {UP: [1.0]}
        assert here.ledger.drops == {DropReason.DUPLICATE: 1}


async def test_a_large_request_is_decoded_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: set[str] = set()
    decode: Callable[..., Any] = Decoder.decode

    def noted(self: Decoder, *args: Any) -> Any:
        threads.add(threading.current_thread().name)
        return decode(self, *args)

    monkeypatch.setattr(Decoder, "decode", noted)
    async with receiving() as here:
        at_ns = time.time_ns()
        many = gauge("octets", *(({"interface": f"swp{n}"}, n) for n in range(3000)), at_ns=at_ns)
        await here.export(now(many))
        assert len(here.values) == 3000
    assert "MainThread" not in threads


async def test_a_fault_of_ours_is_no_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a bug")

    async with receiving() as here:
        with monkeypatch.context() as broken:
            broken.setattr(Decoder, "decode", fail)
            with pytest.raises(grpc.aio.AioRpcError) as failure:
                await here.export(now(state()))
            assert failure.value.code() is grpc.StatusCode.INTERNAL
        await here.export(now(state()))
        assert here.values == {UP: [1.0]}


async def test_unmapped_names_are_known() -> None:
    async with receiving() as here:
        await here.export(now(state(), gauge("outside", (PORT, 1))))
        assert set(here.receiver.unmapped) == {"outside"}
        assert here.ledger.samples_in == 1


async def test_a_device_that_falls_silent_is_down_until_it_sends_again() -> None:
    async with receiving(silence_s=0.2) as here:
        await here.export(now(state()))
        await here.emitted.until(lambda: len(here.emitted.downs) >= 2)
        assert set(here.emitted.downs) == {DownReason.SILENT}
        await here.export(now(state(0)))
        assert here.values == {UP: [1.0, 0.0]}
        assert [batch.collection.seq for batch in here.emitted.batches] == list(range(len(here.emitted.batches)))


async def test_what_is_pushed_to_a_running_stage_is_on_the_bus_and_in_its_ledger(tmp_path: Path) -> None:
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    job = {"listen": address, "allow": ["127.0.0.1"], "rules": [RULE.model_dump()], "senders": {"127.0.0.1": "leaf1"}}
    service = IngestService(IngestConfig.model_validate({"otlp_receivers": [job]}), bus)
    await service.start()
    exporter = OTLPMetricExporter(endpoint=f"http://{address}", insecure=True)
    provider = measure(exporter)
    assert await asyncio.to_thread(provider.force_flush)
    reader, decoder = bus.consume([topics.SAMPLES], {}), BatchDecoder()
    batches: list[SampleBatch] = []
    while not batches:
        records = await reader.poll(wait_s=0.05)
        batches += [decoder.decode(record.value or b"", record.headers) for record in records]
    await reader.stop()
    await asyncio.to_thread(provider.shutdown)
    await service.stop()
    await bus.stop()
    assert (batches[0].table.target, len(batches[0])) == ("otlp/leaf1", 4)
    report = service.report()
    assert report.samples_in == report.samples_out == 8, "shutting down, the exporter sends once more"
