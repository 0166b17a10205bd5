"""OTLP over HTTP: OpenTelemetry's own exporter, NCCL Inspector's JSON, and clients that do what they should not."""

import asyncio
import gzip
import json
import ssl
import time
import zlib
from collections.abc import AsyncIterator, Mapping
from contextlib import suppress
from typing import Any

import aiohttp
import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from prometheus_client import REGISTRY

from ingest.collectors import http_receiver
from ingest.collectors.otlp.decode.decoder import Decoder
from ingest.ledger import DropReason
from tests.conformance.collectors.otlp_receiving import OCTETS, PORT, UP, Receiving, now, receiving, state
from tests.conformance.collectors.test_otlp_receiver import measure
from tests.conformance.collectors.test_otlp_senders import tls
from tests.memory import grows_by_less_than
from tests.servers.answers import bomb
from tests.servers.certificates import Certificates
from tests.unit.ingest.otlp.requests import RULE, gauge, in_json, response_of
from tests.unit.ingest.otlp.test_otlp_inspector import ALL_REDUCE, COLLECTIVE, body
from tests.unit.ingest.otlp.test_otlp_inspector import RULE as INSPECTOR

PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
GZIP = {"Content-Encoding": "gzip"}


def url(here: Receiving, path: str = "/v1/metrics", scheme: str = "http") -> str:
    return f"{scheme}://{here.address}{path}"


def refusals(reason: str) -> float:
    labels = {"job": "otlp", "reason": reason}
    return REGISTRY.get_sample_value("fabricscope_ingest_receiver_refusals_total", labels) or 0.0


class Answer:
    """status, headers and body. message: of the Status in it."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.status, self.headers, self.body = status, headers, body

    @property
    def message(self) -> str:
        if self.headers["Content-Type"].startswith(JSON["Content-Type"]):
            return str(json.loads(self.body)["message"])
        assert self.headers["Content-Type"] == PROTOBUF["Content-Type"]
        return str(Status.FromString(self.body).message)


async def post(here: Receiving, data: Any, headers: Mapping[str, str] = PROTOBUF, **options: Any) -> Answer:
    method, where = (
        options.pop("method", "POST"),
        url(here, options.pop("path", "/v1/metrics"), options.pop("scheme", "http")),
    )
    async with (
        aiohttp.ClientSession() as session,
        session.request(method, where, data=data, headers=headers, **options) as answer,
    ):
        return Answer(answer.status, answer.headers, await answer.read())


async def still_works(here: Receiving) -> None:
    before = here.ledger.samples_in
    assert (await post(here, now(state(port="swp9")))).status == 200
    assert here.ledger.samples_in == before + 1


# ---- senders as they are


@pytest.mark.parametrize("compression", list(Compression))
async def test_what_the_official_exporter_sends_arrives(compression: Compression) -> None:
    async with receiving(protocol="http") as here:
        provider = measure(OTLPMetricExporter(endpoint=url(here), compression=compression))
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
        assert {(batch.table.target, batch.table.device) for batch in here.emitted.batches} == {("otlp/leaf1", "leaf1")}
        await asyncio.to_thread(provider.shutdown)


async def test_the_official_exporter_waits_as_long_as_it_is_asked_to_and_loses_nothing() -> None:
    """What one sender may send in two seconds is over at once; its exporter comes again when it may."""
    async with receiving(protocol="http", limits={"messages_per_s": 1}) as here:
        while (await post(here, now(state()))).status == 200:
            pass
        provider = measure(OTLPMetricExporter(endpoint=url(here)))
        assert await asyncio.to_thread(provider.force_flush)
        assert here.values[OCTETS] == [4096.0]
        await asyncio.to_thread(provider.shutdown)


async def test_an_exporter_shows_its_certificate_and_is_known_by_it(
    certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):  # requests prefers what they name to what it is given
        monkeypatch.delenv(name, raising=False)
    rule = RULE.model_copy(update={"device_from": ("sender",)})
    settings = {"tls": tls(certificates, client_ca_file=certificates.authority), "allow": (), "rules": (rule,)}
    async with receiving(protocol="http", **settings, senders={"client": "leaf1"}) as here:
        with pytest.raises(aiohttp.ClientError):  # it shows none
            await post(
                here, now(state()), scheme="https", ssl=ssl.create_default_context(cafile=certificates.authority)
            )
        exporter = OTLPMetricExporter(
            endpoint=url(here, scheme="https"),
            certificate_file=str(certificates.authority),
            client_certificate_file=str(certificates.certificate("client")),
            client_key_file=str(certificates.key("client")),
        )
        provider = measure(exporter, device="leaf9")
        assert await asyncio.to_thread(provider.force_flush)
        assert {batch.table.device for batch in here.emitted.batches} == {"leaf1"}
        await asyncio.to_thread(provider.shutdown)


@pytest.mark.parametrize("packed", [False, True])
async def test_what_nccl_inspector_exports_is_a_sample_of_its_hosts_gpu(packed: bool) -> None:
    text = body(("nccl_bus_bandwidth_gbs", "GB/s", COLLECTIVE, 678.25), at_ns=time.time_ns()).encode()
    async with receiving(protocol="http", rules=(INSPECTOR,)) as here:
        answer = await post(here, gzip.compress(text), JSON | GZIP) if packed else await post(here, text, JSON)
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
        assert json.loads(answer.body) == {}
        assert here.values[f"nccl_bus_bandwidth_bytes_per_second{ALL_REDUCE}"] == [678.25e9]
        assert {batch.table.device for batch in here.emitted.batches} == {"node1"}


# ---- answers


async def test_protobuf_is_answered_in_protobuf_and_json_in_json() -> None:
    metric = gauge("state", (PORT, 1), ({"interface": "swp2"}, float("nan")), at_ns=time.time_ns())
    async with receiving(protocol="http") as here:
        answer = await post(here, now(metric))
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/x-protobuf")
        partial = response_of(answer.body).partial_success
        assert (partial.rejected_data_points, partial.error_message) == (1, "samples refused: 1 no_value")
        answer = await post(here, in_json(now(metric)), {"Content-Type": "application/json; charset=utf-8"})
        assert (answer.status, answer.headers["Content-Type"]) == (200, "application/json")
        expected = {"rejectedDataPoints": "1", "errorMessage": "samples refused: 1 no_value"}
        assert json.loads(answer.body) == {"partialSuccess": expected}
        assert here.values == {UP: [1.0]}
        assert here.ledger.drops == {DropReason.NO_VALUE: 2, DropReason.DUPLICATE: 1}


@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
async def test_a_request_without_data_is_accepted(headers: Mapping[str, str]) -> None:
    async with receiving(protocol="http") as here:
        answer = await post(here, b"" if headers is PROTOBUF else b"{}", headers)
        assert (answer.status, answer.body) == (200, b"" if headers is PROTOBUF else b"{}")


REFUSED: dict[str, tuple[bytes, dict[str, str], int, str]] = {
    "no protobuf": (b"\xff" * 100, PROTOBUF, 400, "expected an ExportMetricsServiceRequest"),
    "no JSON": (b"{", JSON, 400, "expected an ExportMetricsServiceRequest in JSON"),
    "JSON of something else": (b'{"resourceMetrics": [5]}', JSON, 400, "in JSON"),
    "no object": (b"[]", JSON, 400, "in JSON: no object"),
    "no UTF-8": (b'{"\xff": 1}', JSON, 400, "in JSON"),
    "nested deeply": (b'{"a":' * 100_000, JSON, 400, "in JSON"),
    "another content type": (b"", {"Content-Type": "text/plain"}, 415, "expected one of application/x-protobuf"),
    "another packing": (b"", PROTOBUF | {"Content-Encoding": "zstd"}, 415, "expected one of deflate, gzip"),
    "not packed": (b"{}", JSON | GZIP, 400, "a damaged message"),
    "half of gzip": (gzip.compress(b"{}" * 99)[:-9], PROTOBUF | GZIP, 400, "a damaged message"),
    "more behind gzip": (gzip.compress(b"") + b"x", PROTOBUF | GZIP, 400, "a damaged message"),
    "too large": (bytes(1_000_001), PROTOBUF, 413, "1000001 bytes: at most 1000000"),
    "too large unpacked": (gzip.compress(bytes(1_000_001)), PROTOBUF | GZIP, 413, "more than 1000000 bytes"),
    "too large inflated": (
        zlib.compress(bytes(1_000_001)),
        JSON | {"Content-Encoding": "deflate"},
        413,
        "more than 1000000",
    ),
}


@pytest.mark.parametrize(("data", "headers", "status", "message"), REFUSED.values(), ids=REFUSED)
async def test_what_is_no_request_is_refused_for_good_and_the_next_one_is_taken(
    data: bytes, headers: Mapping[str, str], status: int, message: str
) -> None:
    async with receiving(protocol="http", limits={"message_bytes_max": 1_000_000}) as here:
        answer = await post(here, data, headers)
        assert answer.status == status
        assert message in answer.message
        assert "Retry-After" not in answer.headers
        assert here.ledger.samples_in == 0
        await still_works(here)


async def test_other_paths_and_methods_are_refused_with_the_reason() -> None:
    async with receiving(protocol="http") as here:
        for path in ("/v1/traces", "/v1/logs", "/v1development/profiles", "/", "/v1/metrics/"):
            answer = await post(here, b"", path=path)
            assert (answer.status, answer.message) == (
                404,
                "nothing at this path: metrics alone are taken, at /v1/metrics",
            )
        for method in ("GET", "PUT", "DELETE", "OPTIONS"):
            answer = await post(here, None, JSON, method=method)
            assert (answer.status, answer.headers["Allow"], answer.message) == (405, "POST", "expected POST")


async def test_an_address_that_is_not_allowed_is_refused() -> None:
    async with receiving(protocol="http", allow=("10.0.0.0/8",)) as here:
        answer = await post(here, now(state()))
        assert (answer.status, answer.message) == (403, "this address may not push (allow)")
        assert here.ledger.samples_in == 0


@pytest.mark.parametrize("limits", [{"messages_per_s": 1}, {"bytes_per_s": 100}])
async def test_too_much_of_one_sender_is_refused_until_it_may_come(limits: dict[str, float]) -> None:
    async with receiving(protocol="http", limits=limits) as here:
        taken = 0
        while (answer := await post(here, now(state(taken % 2)))).status == 200:
            taken += 1
        assert (answer.status, answer.headers["Retry-After"] in ("1", "2")) == (429, True)
        assert "a second" in answer.message
        assert here.ledger.samples_in == taken


async def test_when_too_much_waits_the_sender_is_asked_to_wait() -> None:
    async with receiving(protocol="http", limits={"waiting_max": 1}) as here:
        held = await here.hold()
        first = asyncio.create_task(post(here, now(state())))
        await held.asked.acquire()
        answer = await post(here, now(state(port="swp2")))
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        held.release()
        assert (await first).status == 200
        assert here.ledger.samples_in == 1


async def test_a_fault_of_ours_is_no_acknowledgement(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise AssertionError("a bug")

    async with receiving(protocol="http") as here:
        with monkeypatch.context() as broken:
            broken.setattr(Decoder, "decode", fail)
            answer = await post(here, now(state()))
            assert (answer.status, answer.message) == (500, "a fault of ours: the log has the traceback")
        await still_works(here)


async def test_a_sender_that_does_not_wait_loses_nothing() -> None:
    async with receiving(protocol="http") as here:
        data, held = now(state()), await here.hold()
        sending = asyncio.create_task(post(here, data))
        await held.asked.acquire()
        sending.cancel()
        held.release()
        await here.emitted.until(lambda: here.values)
        assert (await post(here, data)).status == 200
        assert here.values == {UP: [1.0]}
        assert here.ledger.drops == {DropReason.DUPLICATE: 1}


# ---- clients that mean no good


async def test_a_bomb_costs_no_more_than_a_request_may() -> None:
    packed = bomb(512 << 20)
    async with receiving(protocol="http") as here:
        with grows_by_less_than(64 << 20):
            answer = await post(here, packed, PROTOBUF | GZIP)
        assert answer.status == 413
        await still_works(here)


async def test_a_body_without_a_length_has_the_same_limit() -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield bytes(10_000)

    async with receiving(protocol="http", limits={"message_bytes_max": 1_000_000}) as here:
        before = refusals("too_large")
        with suppress(aiohttp.ClientError):  # the connection may end before the answer is read
            assert (await post(here, endless())).status == 413
        assert refusals("too_large") == before + 1
        await still_works(here)


async def test_a_body_that_drips_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    async def dripping() -> AsyncIterator[bytes]:
        yield b"\x0a"
        await asyncio.Event().wait()

    monkeypatch.setattr(http_receiver, "BODY_S", 0.05)
    async with receiving(protocol="http") as here:
        answer = await post(here, dripping())
        assert (answer.status, answer.message) == (408, "a body that was not whole after 0.05 s")
        await still_works(here)


async def test_a_client_that_goes_within_its_body_changes_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async with receiving(protocol="http") as here:
        _, writer = await asyncio.open_connection("127.0.0.1", here.port)
        writer.write(b"POST /v1/metrics HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n")
        writer.write(b"Content-Length: 100\r\n\r\n{")
        await writer.drain()
        await still_works(here)
        writer.transport.abort()
        await still_works(here)
    assert not caplog.records
