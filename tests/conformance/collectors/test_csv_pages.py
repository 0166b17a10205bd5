"""Pages of comma-separated values over HTTP, as UFM Telemetry serves them: until the connection closes, without a
length."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.ledger import Ledger
from telemetry.samples import DownReason
from tests.conformance.collectors.http_target import BODY, NOW_NS, Server, make
from tests.ledgers import assert_accounted
from tests.servers.answers import Answer, chunked, endless, one_byte_a_second, raw, reset, respond, silence

NOW_US = NOW_NS // 1000
ROWS = "".join(
    f"{NOW_US},0x{node:x},,0x{node:x},0x{node:x},{port},{node * port},{port}\n"
    for node in range(1, 51)
    for port in range(1, 41)
)
PAGE = (
    f"timestamp,source_id,tag,node_guid,port_guid,port_num,PortXmitDataExtended,PortXmitWaitExtended\n{ROWS}".encode()
)


@pytest.fixture
async def ufm(server: Server, ledger: Ledger) -> AsyncIterator[ExpositionCollector]:
    server.answer = respond(PAGE, "Content-Type: text/plain")
    made = make(
        server.address,
        ledger,
        source="ufm",
        format="csv",
        metrics_path="/csv/cset/converted_enterprise",
        backoff_intervals_max=1,
        body_bytes_max=2 * 2**20,
    )
    yield made
    await made.stop()


@pytest.mark.parametrize(
    "answer",
    [
        respond(PAGE, "Content-Type: text/plain"),
        respond(PAGE, "Content-Type: text/csv"),
        chunked(PAGE, 1000),
        raw(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE, close=True),
    ],
    ids=["text", "csv", "chunked", "until close"],
)
async def test_every_port_of_the_fabric_is_collected(
    server: Server, ledger: Ledger, ufm: ExpositionCollector, answer: Answer
) -> None:
    server.answer = answer
    batches = [await ufm.collect(NOW_NS + second) for second in range(2)]
    assert [len(batch) for batch in batches] == [4000, 4000]
    assert batches[0].table is batches[1].table
    assert b"GET /csv/cset/converted_enterprise " in server.request
    found = dict(
        zip((batches[1].table.keys[row] for row in batches[1].series), batches[1].values.tolist(), strict=True)
    )
    assert found['ib_port_transmit_bytes_total{device="0x32",port="40"}'] == 50 * 40 * 4
    assert_accounted(ledger, batches)


@pytest.mark.parametrize(
    ("answer", "down"),
    [
        (respond(b"<html>Log in</html>", "Content-Type: text/html"), DownReason.NOT_EXPOSITION),
        (respond(b"Endpoint not found"), DownReason.NOT_EXPOSITION),
        (respond(b""), DownReason.NOT_EXPOSITION),
        (respond(BODY), DownReason.NOT_EXPOSITION),
        (respond(PAGE.partition(b"\n")[0] + b"\n"), DownReason.NO_SAMPLES),
        (respond(PAGE + b"1,2,3\n"), DownReason.BAD_FORMAT),
        (raw(b"HTTP/1.0 200 OK\r\n\r\n" + PAGE[:-3], close=True), DownReason.TRUNCATED),
        (respond(b"", status="503 Service Unavailable"), DownReason.HTTP_STATUS),
        (endless, DownReason.TOO_LARGE),
        (reset, DownReason.RESET),
    ],
)
async def test_what_is_no_page_is_down_with_a_reason_and_the_next_good_one_is_up(
    server: Server, ledger: Ledger, ufm: ExpositionCollector, answer: Answer, down: DownReason
) -> None:
    server.answer = answer
    assert (await ufm.collect(NOW_NS)).collection.down is down
    assert ledger.samples_in == ledger.drops.total()
    server.answer = respond(PAGE)
    assert len(await ufm.collect(NOW_NS)) == 4000


@pytest.mark.parametrize("answer", [one_byte_a_second, silence])
async def test_the_deadline_is_one_for_the_whole_page(server: Server, ledger: Ledger, answer: Answer) -> None:
    server.answer = answer
    collector = make(server.address, ledger, source="ufm", format="csv", scrape_timeout="100ms")
    async with asyncio.timeout(10):
        assert (await collector.collect(NOW_NS)).collection.down is DownReason.TIMEOUT
    await collector.stop()
