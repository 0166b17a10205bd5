"""The receiver of remote write against real senders, and against one that does what it should not."""

import asyncio
import ssl
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import aiohttp
import numpy as np
import pytest
from prometheus_client import REGISTRY

from common.errors import ConfigError
from ingest.collectors.base import CollectorContext, CollectorOutput
from ingest.collectors.remote_write.collector import RemoteWriteCollector
from ingest.collectors.remote_write.config import Config
from ingest.collectors.remote_write.decode.body import Message, ReadRequest, RequestReader
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.servers.certificates import Certificates
from tests.servers.prometheus import Prometheus
from tests.unit.ingest.remote_write.test_remote_write_body import encoded, gpu, packed
from tests.waiting import until

FIRST = {"Content-Type": "application/x-protobuf"}
SECOND = {"Content-Type": "application/x-protobuf;proto=io.prometheus.write.v2.Request"}
RULES = [{"source": "dcgm"}]
WRITTEN = "X-Prometheus-Remote-Write-Samples-Written"
TOKEN = {"Authorization": "Bearer secret"}


class Receiver:
    """A running collector and what it has emitted. full: what the queue before the bus says."""

    def __init__(self, settings: Mapping[str, object], workers: ThreadPoolExecutor) -> None:
        self.ledger = Ledger(0)
        self.full = False
        self.batches: list[SampleBatch] = []
        self._emitted = asyncio.Event()
        context = CollectorContext(self.ledger, time.time_ns, workers, is_full=lambda: self.full)
        config = Config.model_validate({"port": 0, "rules": RULES, "gather_s": 0.02, **settings})
        self.collector = RemoteWriteCollector(config, context)
        self.task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        self.task = asyncio.create_task(self.collector.run(self._emit))
        listening = asyncio.create_task(self.collector.listening())
        await asyncio.wait([self.task, listening], return_when=asyncio.FIRST_COMPLETED)
        if self.task.done():
            listening.cancel()
            self.task.result()

    async def stop(self) -> None:
        """Each sample that it has seen is delivered or dropped with a reason, whatever its senders did."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait([self.task])
        self.check_balance()

    async def has_emitted(self, batches: int) -> None:
        while len(self.batches) < batches:
            self._emitted.clear()
            await self._emitted.wait()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.collector.port}/api/v1/write"

    @property
    def samples(self) -> int:
        return sum(map(len, self.batches))

    def values(self) -> dict[str, float]:
        """The newest of each series."""
        return {
            batch.table.keys[row]: value
            for batch in self.batches
            for row, value in zip(batch.series.tolist(), batch.values.tolist(), strict=True)
        }

    def check_balance(self) -> None:
        assert self.ledger.samples_in == self.samples + self.ledger.drops.total()

    def _emit(self, output: CollectorOutput) -> None:
        assert isinstance(output, SampleBatch)
        self.batches.append(output)
        self._emitted.set()


Start = Callable[..., "asyncio.Future[Receiver]"]


@pytest.fixture
def workers() -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(1)
    yield pool
    pool.shutdown()


@pytest.fixture
async def start(workers: ThreadPoolExecutor) -> AsyncIterator[Start]:
    async with AsyncExitStack() as stack:

        async def begin(**settings: object) -> Receiver:
            receiver = Receiver(settings, workers)
            await receiver.start()
            stack.push_async_callback(receiver.stop)
            return receiver

        yield begin  # type: ignore[misc]


@asynccontextmanager
async def posting(
    url: str, body: bytes, headers: Mapping[str, str] | None = None, tls: ssl.SSLContext | bool = True
) -> AsyncIterator[aiohttp.ClientResponse]:
    headers = {**FIRST, **(headers or {})}
    async with aiohttp.ClientSession() as session, session.post(url, data=body, headers=headers, ssl=tls) as answer:
        yield answer


async def post(url: str, body: bytes, headers: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Status, text, and samples that are written."""
    async with posting(url, body, headers) as answer:
        return answer.status, (await answer.text()).strip(), answer.headers.get(WRITTEN, "")


def one(value: float = 40.0, time_ms: int | None = None, message: Message = Message.FIRST) -> bytes:
    return encoded([(gpu(1), [(value, time.time_ns() // 1_000_000 if time_ms is None else time_ms)])], message)


async def test_a_receiver_over_ipv6(start: Start) -> None:
    receiver = await start(host="::1")
    status, _, written = await post(f"http://[::1]:{receiver.collector.port}/api/v1/write", one())
    assert (status, written) == (204, "1")
    await receiver.has_emitted(1)
    receiver.check_balance()


# ---- real senders


async def test_a_real_prometheus_that_scrapes_a_real_node_exporter_writes_to_us(
    start: Start, node_exporter: str, tmp_path: Path
) -> None:
    rules = [
        {"job": "node", "source": "node_exporter", "relabel_configs": [{"target_label": "pod", "replacement": "7"}]}
    ]
    receiver = await start(rules=rules)
    prometheus = Prometheus(
        tmp_path / "prometheus",
        config=f"""
global: {{scrape_interval: 1s}}
scrape_configs: [{{job_name: node, static_configs: [{{targets: ['{node_exporter}']}}]}}]
remote_write: [{{url: '{receiver.url}', queue_config: {{batch_send_deadline: 100ms, min_shards: 3}}}}]
""",
    )
    await asyncio.to_thread(prometheus.start)
    boot = 'node_boot_time_seconds{device="127.0.0.1",pod="7"}'
    try:
        await until(lambda: receiver.samples > 300 and len({b.collection.collected_ns for b in receiver.batches}) > 5)
        (sent,) = await asyncio.to_thread(prometheus.query, "node_boot_time_seconds")
    finally:
        await asyncio.to_thread(prometheus.stop)
    assert receiver.values()[boot] == float(sent["value"][1])
    assert {batch.table.target for batch in receiver.batches} == {f"remote_write/{node_exporter}"}
    assert {batch.table.device for batch in receiver.batches} == {"127.0.0.1"}
    assert not receiver.ledger.drops.keys() - {DropReason.NO_VALUE, DropReason.OUT_OF_BOUNDS}
    assert "up" in receiver.collector.unmapped
    receiver.check_balance()


async def test_a_prometheus_that_finds_us_again_has_lost_nothing(
    start: Start, node_exporter: str, tmp_path: Path, workers: ThreadPoolExecutor
) -> None:
    rules = [{"source": "node_exporter"}]
    receiver = await start(rules=rules)
    port = receiver.collector.port
    prometheus = Prometheus(
        tmp_path / "prometheus",
        config=f"""
global: {{scrape_interval: 1s}}
scrape_configs: [{{job_name: node, static_configs: [{{targets: ['{node_exporter}']}}]}}]
remote_write: [{{url: '{receiver.url}', queue_config: {{batch_send_deadline: 100ms}}}}]
""",
    )
    await asyncio.to_thread(prometheus.start)
    memory = 'node_memory_total_bytes{device="127.0.0.1"}'

    def busy() -> float:
        labels = {"job": "remote_write", "status": "503"}
        return REGISTRY.get_sample_value("fabricscope_ingest_remote_write_requests_total", labels) or 0.0

    before = busy()

    def times(of: Receiver) -> set[int]:
        return {
            time_ns
            for batch in of.batches
            for row, time_ns in zip(batch.series.tolist(), batch.times_ns.tolist(), strict=True)
            if batch.table.keys[row] == memory
        }

    try:
        await until(lambda: len(times(receiver)) >= 2)
        receiver.full = True  # the bus is away: Prometheus keeps what comes now
        await until(lambda: busy() >= before + 2)
        receiver.full = False
        await until(lambda: len(times(receiver)) >= 5)
        await receiver.stop()
        again = await start(rules=rules, port=port)
        await until(lambda: len(times(again)) >= 3)
        every = await asyncio.to_thread(prometheus.query, "node_memory_MemTotal_bytes[5m]")
    finally:
        await asyncio.to_thread(prometheus.stop)
    got = sorted(time_ns // 1_000_000 for time_ns in times(receiver) | times(again))
    scraped = [round(float(at) * 1000) for at, _ in every[0]["values"]]
    assert got == [at for at in scraped if at <= got[-1]]
    receiver.check_balance()
    again.check_balance()


# ---- answers


@pytest.mark.parametrize("message", list(Message))
async def test_an_answer_comes_once_the_samples_are_queued_and_counts_them(start: Start, message: Message) -> None:
    receiver = await start()
    headers = SECOND if message is Message.SECOND else {}
    assert await post(receiver.url, one(message=message), headers) == (204, "", "1")
    assert receiver.samples == 1
    receiver.check_balance()


async def test_what_comes_together_becomes_one_batch_of_a_device(start: Start) -> None:
    receiver = await start(gather_s=0.5)
    now_ms = time.time_ns() // 1_000_000
    bodies = [encoded([(gpu(n), [(1.0, now_ms)])], Message.FIRST) for n in range(20)]
    assert {answer[0] for answer in await asyncio.gather(*(post(receiver.url, body) for body in bodies))} == {204}
    assert len(receiver.batches) < 20
    assert receiver.samples == 20


async def test_large_requests_are_read_in_a_thread_and_small_ones_are_not(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    receiver = await start()
    read, threads = RequestReader.read, list[str]()

    def noted(reader: RequestReader, body: bytes, message: Message) -> ReadRequest:
        threads.append(threading.current_thread().name)
        return read(reader, body, message)

    monkeypatch.setattr(RequestReader, "read", noted)
    values, now_ms = np.random.default_rng(1).uniform(1, 90, 150), time.time_ns() // 1_000_000
    large = encoded([(gpu(n), [(value, now_ms)]) for n, value in enumerate(values.tolist())], Message.FIRST)
    assert 2048 < len(large) < 4096
    assert [(await post(receiver.url, body))[0] for body in (one(), large, one())] == 3 * [204]
    assert [name.startswith("remote-write") for name in threads] == [False, True, False]


async def test_a_request_that_is_sent_again_is_counted_as_duplicate(start: Start) -> None:
    receiver = await start()
    body = one()
    assert [(await post(receiver.url, body))[0] for _ in range(3)] == [204] * 3
    assert receiver.ledger.drops == {DropReason.DUPLICATE: 2}
    receiver.check_balance()


async def test_a_device_that_falls_silent_is_down_until_it_is_heard_of_again(start: Start) -> None:
    receiver = await start(silence_s=0.2)
    await post(receiver.url, one())
    await receiver.has_emitted(3)
    assert [batch.collection.down for batch in receiver.batches[:3]] == [None, DownReason.SILENT, DownReason.SILENT]
    assert {batch.table.device for batch in receiver.batches} == {"node1"}
    await post(receiver.url, one(41.0, time.time_ns() // 1_000_000))
    assert 41.0 in receiver.values().values()


async def test_what_is_good_of_a_request_is_taken_and_the_answer_says_what_is_not(start: Start) -> None:
    receiver = await start()
    now_ms = time.time_ns() // 1_000_000
    body = encoded([({"job": "gpu"}, [(1.0, now_ms)]), (gpu(1), [(2.0, now_ms)])], Message.SECOND)
    assert await post(receiver.url, body, SECOND) == (400, "labels {'job': 'gpu'}: expected __name__", "1")
    assert (receiver.samples, receiver.ledger.drops) == (1, {DropReason.BAD_FORMAT: 1})
    receiver.check_balance()


@pytest.mark.parametrize(
    ("body", "headers", "status", "text"),
    [
        (b"", {"Content-Type": "application/json"}, 415, "expected application/x-protobuf"),
        (b"", {"Content-Encoding": "zstd"}, 415, "expected snappy"),
        (b"", {"Content-Type": "application/x-protobuf;proto=io.prometheus.write.v9.Request"}, 415, "expected one of"),
        (b"not packed", {}, 400, "expected Snappy's block format"),
        (packed(b"\xff\xff"), {}, 400, "expected a prometheus.WriteRequest"),
        (packed(b"\xff\xff"), SECOND, 400, "expected an io.prometheus.write.v2.Request"),
        (packed(bytes(3_000_000)), {}, 413, "3000000 bytes unpacked: at most 2000000"),
        (bytes(1_000_001), {}, 413, "1000001 bytes: at most 1000000"),
    ],
)
async def test_what_is_no_request_is_refused_and_the_next_one_is_taken(
    start: Start, body: bytes, headers: Mapping[str, str], status: int, text: str
) -> None:
    receiver = await start(limits={"body_bytes_max": 1_000_000, "decoded_bytes_max": 2_000_000})
    answered, said, written = await post(receiver.url, body, headers)
    assert (answered, written) == (status, "")
    assert text in said
    assert (await post(receiver.url, one()))[0] == 204


async def test_other_methods_and_paths_are_refused(start: Start) -> None:
    receiver = await start()
    async with aiohttp.ClientSession() as session:
        async with session.get(receiver.url) as answer:
            assert (answer.status, answer.headers["Allow"]) == (405, "POST")
        async with session.post(receiver.url + "/x") as answer:
            assert answer.status == 404


async def test_a_body_without_a_length_has_the_same_limit(start: Start) -> None:
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield bytes(10_000)

    receiver = await start(limits={"body_bytes_max": 1_000_000})
    async with aiohttp.ClientSession() as session:
        try:
            async with session.post(receiver.url, data=endless(), headers=FIRST) as answer:
                assert answer.status == 413
        except aiohttp.ClientError:
            pass  # the connection is closed before all is sent
    assert (await post(receiver.url, one()))[0] == 204


async def test_senders_wait_while_the_queue_is_full_or_too_much_is_on_its_way(start: Start) -> None:
    receiver = await start()
    receiver.full = True
    async with posting(receiver.url, one()) as answer:
        assert (answer.status, answer.headers["Retry-After"]) == (503, "5")
    receiver.full = False
    assert (await post(receiver.url, one()))[0] == 204
    small = await start(limits={"waiting_bytes_max": 10})
    assert (await post(small.url, one()))[0] == 503
    assert (receiver.samples, small.samples) == (1, 0)


async def test_a_connection_without_a_request_gives_way_to_one_with_a_request(start: Start) -> None:
    receiver = await start(limits={"connections_max": 1})
    reader, writer = await asyncio.open_connection("127.0.0.1", receiver.collector.port)
    writer.write(b"POST /api/v1/write HTTP/1.1\r\nX:")
    assert (await post(receiver.url, one()))[0] == 204
    assert await reader.read() == b""
    writer.close()


async def test_a_token_or_a_password_is_asked_for(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "secret"
    file.write_text("secret\n")
    receiver = await start(bearer_token_file=str(file))
    for headers in ({}, {"Authorization": "Bearer secre"}, {"Authorization": "Bearer s\u00e9cret"}):
        async with posting(receiver.url, one(), headers) as answer:
            assert (answer.status, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    assert (await post(receiver.url, one(), TOKEN))[0] == 204
    file.write_text("another")
    assert (await post(receiver.url, one(), TOKEN))[0] == 401
    file.unlink()
    assert (await post(receiver.url, one(), TOKEN))[0] == 503, "the file may be in rotation"
    file.write_text("secret")
    basic = await start(basic_auth={"username": "prom", "password_file": str(file)})
    assert (await post(basic.url, one()))[0] == 401
    assert (await post(basic.url, one(), {"Authorization": aiohttp.encode_basic_auth("prom", "secret")}))[0] == 204


# ---- transport security


async def test_senders_show_a_certificate_where_an_authority_is_named(start: Start, certificates: Certificates) -> None:
    tls = {"cert_file": certificates.certificate("server"), "key_file": certificates.key("server")}
    receiver = await start(tls=tls | {"client_ca_file": certificates.authority})
    url = receiver.url.replace("http:", "https:")
    context = ssl.create_default_context(cafile=certificates.authority)
    with pytest.raises(aiohttp.ClientError):
        async with posting(url, one(), tls=context) as answer:
            await answer.read()
    context.load_cert_chain(certificates.certificate("client"), certificates.key("client"))
    async with posting(url, one(), tls=context) as answer:
        assert answer.status == 204


async def test_an_address_that_is_taken_is_said(start: Start, certificates: Certificates) -> None:
    receiver = await start()
    with pytest.raises(ConfigError, match=r"remote_write: 127\.0\.0\.1:"):
        await start(port=receiver.collector.port)
    with pytest.raises(ConfigError, match=r"tls: .*server\.key"):
        await start(tls={"cert_file": certificates.key("server"), "key_file": certificates.key("server")})
