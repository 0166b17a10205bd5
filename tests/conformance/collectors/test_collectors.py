"""Collectors against real servers: a well-behaved one, and one that does everything wrong."""

import asyncio
import gzip
import os

import pytest
from structlog.testing import capture_logs

from ingest.collectors.exposition.collector import ExpositionCollector
from ingest.collectors.exposition.decode.body import BodyReader
from ingest.ledger import DropReason, Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.http_target import BODY, NOW_NS, Server, make
from tests.ledgers import assert_accounted
from tests.samples import SAMPLES
from tests.servers.answers import (
    Answer,
    bomb,
    chunked,
    endless,
    one_byte_a_second,
    raw,
    reset,
    respond,
    silence,
)

POWER = 'gpu_power_watts{device="node1",gpu="GPU-1"}'


def values(batch: SampleBatch) -> dict[str, float]:
    return dict(zip((batch.table.keys[row] for row in batch.series), batch.values.tolist(), strict=True))


# ---- what works


async def test_a_body_becomes_canonical_samples_at_the_time_of_its_collection(
    collector: ExpositionCollector, ledger: Ledger
) -> None:
    batch = await collector.collect(NOW_NS)
    found = values(batch)
    gpu = "GPU-d7cbb0cd-d4bd-c2f7-dfaf-221df5e958ea"
    assert found[f'gpu_memory_free_bytes{{device="node1",gpu="{gpu}"}}'] == 14912 * 2**20
    assert (batch.collection.epoch_ns, batch.collection.seq, batch.collection.collected_ns) == (7, 0, NOW_NS)
    assert (batch.table.target, batch.table.device) == (collector.name, "node1")
    assert set(batch.times_ns.tolist()) == {NOW_NS}
    assert_accounted(ledger, [batch])


async def test_the_connection_is_kept_and_the_sequence_counts(server: Server, collector: ExpositionCollector) -> None:
    batches = [await collector.collect(NOW_NS + second) for second in range(3)]
    assert [batch.collection.seq for batch in batches] == [0, 1, 2]
    assert len({id(batch.table) for batch in batches}) == 1
    assert server.connections == 1


@pytest.mark.parametrize(
    "answer",
    [
        chunked(BODY, 1000),
        chunked(BODY, 3),
        respond(gzip.compress(BODY, mtime=0), "Content-Encoding: gzip"),
        respond(gzip.compress(BODY[:1000], mtime=0) + gzip.compress(BODY[1000:], mtime=0), "Content-Encoding: gzip"),
        chunked(gzip.compress(BODY, mtime=0), 100, "content-encoding: GZIP"),
        raw(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(BODY) + BODY),
        raw(b"HTTP/1.0 200 OK\r\n\r\n" + BODY, close=True),
        respond(BODY.rstrip(b"\n")),
    ],
    ids=["chunked", "tiny chunks", "gzip", "gzip members", "chunked gzip", "continue", "until close", "no last feed"],
)
async def test_every_framing_and_encoding(server: Server, collector: ExpositionCollector, answer: Answer) -> None:
    expected = values(await collector.collect(NOW_NS))
    server.answer = answer
    for _ in range(2):
        assert values(await collector.collect(NOW_NS)) == expected


async def test_an_idle_connection_that_the_server_closed_is_no_failure(
    server: Server, collector: ExpositionCollector
) -> None:
    async def answer_and_hang_up(writer: asyncio.StreamWriter) -> None:
        await respond(BODY)(writer)
        await writer.drain()
        writer.close()

    server.answer = answer_and_hang_up
    for _ in range(3):
        assert (await collector.collect(NOW_NS)).collection.up


async def test_a_counter_that_decreases_is_passed_on(server: Server, collector: ExpositionCollector) -> None:
    for energy in (5000, 20):
        server.answer = respond(b'DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{UUID="GPU-1"} %d\n' % energy)
        found = values(await collector.collect(NOW_NS))
        assert found == {'gpu_energy_joules_total{device="node1",gpu="GPU-1"}': energy / 1000}


async def test_values_that_are_no_sample_are_dropped_with_their_reason(
    server: Server, collector: ExpositionCollector, ledger: Ledger
) -> None:
    server.answer = respond(
        b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\n'
        b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 400\n'
        b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-2"} NaN\n'
        b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-3"} +Inf\n'
        b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-4"} 9223372036854775794\n'
        b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-5"} 300 1\n'
        b"DCGM_FI_DEV_POWER_USAGE 300\n"
        b"outside_the_catalogue 1\n"
    )
    assert {POWER: 300.0}.items() <= values(await collector.collect(NOW_NS)).items()
    assert ledger.drops[DropReason.DUPLICATE] == 1
    assert ledger.drops[DropReason.NO_VALUE] == 2
    assert ledger.drops[DropReason.OUT_OF_BOUNDS] == 1
    assert ledger.drops[DropReason.EVENT_TIME] >= 1


async def test_every_real_body_is_collected(server: Server, ledger: Ledger) -> None:
    for path in sorted(SAMPLES.rglob("*.prom")):
        source = "node_exporter" if "node_exporter" in path.parts else "lustre" if "lustre" in path.name else "dcgm"
        server.answer = respond(path.read_bytes())
        collector = make(server.address, ledger, source=source)
        batch = await collector.collect(NOW_NS)
        await collector.stop()
        known = {"dcgm", "node_exporter"} & set(path.parts) or path.name in (
            "lustrefs_exporter_client.prom",
            "lustrefs_exporter_jobstats.prom",
            "lustrefs_exporter_lnet.prom",
        )
        expected = None if known else DownReason.NO_SAMPLES
        if path.name == "format_verbs.prom":
            expected = DownReason.BAD_FORMAT  # Go's format verbs are left in it
        assert batch.collection.down is expected, path.name


async def test_a_real_node_exporter(node_exporter: str, ledger: Ledger) -> None:
    collector = make(node_exporter, ledger, source="node_exporter")
    batches = [await collector.collect(NOW_NS + second) for second in range(3)]
    await collector.stop()
    for batch in batches:
        found = values(batch)
        assert found['node_boot_time_seconds{device="node1"}'] > 1e9
        assert found['node_memory_total_bytes{device="node1"}'] == os.sysconf("SC_PHYS_PAGES") * os.sysconf(
            "SC_PAGE_SIZE"
        )
    assert_accounted(ledger, batches)


# ---- what does not


@pytest.mark.parametrize(
    ("answer", "down"),
    [
        (respond(b"<!DOCTYPE html><html>Log in</html>", "Content-Type: text/html"), DownReason.NOT_EXPOSITION),
        (respond(b"<html>as text</html>"), DownReason.NOT_EXPOSITION),
        (respond(b'{"error": "json"}', "Content-Type: application/json"), DownReason.NOT_EXPOSITION),
        (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n"), DownReason.NOT_EXPOSITION),
        (raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000), DownReason.NOT_EXPOSITION),
        (respond(b'a{b="c} 1\n'), DownReason.BAD_FORMAT),
        (respond(b'a{b="' + b"x" * 1_000_000 + b'"} 1\n'), DownReason.TOO_LARGE),
        (respond(b'a{b="' + b'\\"' * 400_000 + b'"} 1\n'), DownReason.TOO_LARGE),
        (respond(b"".join(b"a%d 1\n" % i for i in range(50_001))), DownReason.TOO_MANY_SERIES),
        (respond(b"unknown_to_the_catalogue 1\n"), DownReason.NO_SAMPLES),
        (respond(b""), DownReason.NO_SAMPLES),
        (respond(BODY, "Content-Type: application/openmetrics-text; version=1.0.0"), DownReason.TRUNCATED),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n" + BODY[:100], close=True), DownReason.TRUNCATED),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\nabc", close=True), DownReason.TRUNCATED),
        (raw(b"HTTP/1.0 200 OK\r\n\r\n" + BODY[:-5], close=True), DownReason.TRUNCATED),
        (respond(gzip.compress(BODY, mtime=0)[:-20], "Content-Encoding: gzip"), DownReason.TRUNCATED),
        (respond(BODY, "Content-Encoding: gzip"), DownReason.BAD_ENCODING),
        (
            respond(gzip.compress(gzip.compress(BODY, mtime=0), mtime=0), "Content-Encoding: gzip, gzip"),
            DownReason.BAD_ENCODING,
        ),
        (
            respond(gzip.compress(gzip.compress(BODY, mtime=0), mtime=0), "Content-Encoding: gzip"),
            DownReason.NOT_EXPOSITION,
        ),
        (respond(BODY, "Content-Encoding: br"), DownReason.BAD_ENCODING),
        (respond(gzip.compress(b"", mtime=0) * 100, "Content-Encoding: gzip"), DownReason.BAD_ENCODING),
        (respond(bomb(70 * 2**20), "Content-Encoding: gzip"), DownReason.TOO_LARGE),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), DownReason.TOO_LARGE),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 5000 + b"\r\n\r\n"), DownReason.TOO_LARGE),
        (raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 20_000), DownReason.TOO_LARGE),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n"), DownReason.TOO_LARGE),
        (raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n"), DownReason.BAD_FORMAT),
        (raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), DownReason.BAD_FORMAT),
        (respond(b"", "Location: http://169.254.169.254/latest", status="302 Found"), DownReason.REDIRECT),
        (respond(b"", status="401 Unauthorized"), DownReason.AUTH),
        (respond(b"", status="503 Service Unavailable"), DownReason.HTTP_STATUS),
        (raw(b"", close=True), DownReason.CLOSED),
        (endless, DownReason.TOO_LARGE),
        (one_byte_a_second, DownReason.TIMEOUT),
        (silence, DownReason.TIMEOUT),
        (reset, DownReason.RESET),
    ],
)
async def test_bad_responses_are_down_with_a_reason_and_the_next_good_one_is_up(
    server: Server, ledger: Ledger, answer: Answer, down: DownReason
) -> None:
    waits = {"scrape_timeout": "2s"} if down is DownReason.TIMEOUT else {}  # the good response comes in time, too
    collector = make(server.address, ledger, body_bytes_max=2 * 2**20, backoff_intervals_max=1, **waits)
    server.answer = answer
    batch = await collector.collect(NOW_NS)
    assert (batch.collection.down, len(batch)) == (down, 0)
    assert ledger.samples_in == ledger.drops.total()
    server.answer = respond(BODY)
    batch = await collector.collect(NOW_NS)
    assert batch.collection.up
    assert batch.collection.seq == 1
    await collector.stop()


@pytest.mark.parametrize("answer", [one_byte_a_second, silence])
async def test_the_deadline_is_one_for_the_whole_collection(server: Server, ledger: Ledger, answer: Answer) -> None:
    """The timer is set at the deadline, so only a hung loop would be late: 10 s is no timing assertion."""
    server.answer = answer
    collector = make(server.address, ledger, scrape_timeout="100ms")
    async with asyncio.timeout(10):
        batch = await collector.collect(NOW_NS)
    assert batch.collection.duration_s >= 0.1
    await collector.stop()


async def test_a_target_that_has_ipv6_alone(ledger: Ledger) -> None:
    served = Server()
    listening = await asyncio.start_server(served.serve, "::1", 0)
    address = f"[::1]:{listening.sockets[0].getsockname()[1]}"
    served.answer = respond(b'DCGM_FI_DEV_GPU_TEMP{gpu="0",UUID="GPU-1"} 40\n')
    collector = make(address, ledger)
    try:
        batch = await collector.collect(NOW_NS)
        assert batch.collection.up
        assert 40.0 in batch.values.tolist()
        assert b"host: " + address.encode() in served.request.lower()
    finally:
        await collector.stop()
        listening.close()
    assert (await collector.collect(NOW_NS)).collection.down is DownReason.REFUSED, "nobody is there any more"


async def test_a_refused_connection(ledger: Ledger) -> None:
    collector = make("127.0.0.1:1", ledger)
    assert (await collector.collect(NOW_NS)).collection.down is DownReason.REFUSED


async def test_a_name_that_does_not_exist(ledger: Ledger) -> None:
    collector = make("host.invalid:9100", ledger, scrape_timeout="5s", connect_timeout="5s")
    assert (await collector.collect(NOW_NS)).collection.down in (DownReason.DNS, DownReason.TIMEOUT)


async def test_plain_text_where_tls_was_expected(server: Server, ledger: Ledger) -> None:
    collector = make(server.address, ledger, scheme="https", connect_timeout="200ms")
    server.answer = raw(b"", close=True)
    assert (await collector.collect(NOW_NS)).collection.down in (
        DownReason.TLS,
        DownReason.RESET,
        DownReason.TIMEOUT,
        DownReason.CLOSED,
    )


async def test_a_failing_target_is_scraped_less_often_but_reported_each_time(server: Server, ledger: Ledger) -> None:
    server.answer = respond(b"", "Connection: close", status="500 Oops")
    collector = make(server.address, ledger, backoff_intervals_max=4)
    batches = [await collector.collect(NOW_NS) for _ in range(11)]
    assert {batch.collection.down for batch in batches} == {DownReason.HTTP_STATUS}
    assert [batch.collection.seq for batch in batches] == list(range(11))
    # scraped at 0, 1, 3, 7 and then every fourth time
    assert server.connections == 4


async def test_changes_of_a_target_are_logged_and_not_each_collection(server: Server, ledger: Ledger) -> None:
    collector = make(server.address, ledger, backoff_intervals_max=1)
    with capture_logs() as logged:
        for response in (respond(b"", status="503 Service Unavailable"), respond(BODY)):
            server.answer = response
            for _ in range(3):
                await collector.collect(NOW_NS)
    await collector.stop()
    about = {"job": "gpu", "target": collector.name, "device": "node1", "log_level": "info"}
    assert logged == [
        {"event": "target is down", "reason": "http_status", "error": "status 503", **about},
        {"event": "target is up", **about},
    ]


async def test_a_fault_of_ours_is_down_with_a_reason_and_logged_once(
    server: Server, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise AssertionError("a bug")

    server.answer = respond(BODY)
    collector = make(server.address, ledger, backoff_intervals_max=1)
    with capture_logs() as logged:
        with monkeypatch.context() as broken:
            broken.setattr(BodyReader, "read_known", fail)
            batches = [await collector.collect(NOW_NS) for _ in range(3)]
        assert [batch.collection.down for batch in batches] == [DownReason.INTERNAL] * 3
        assert (await collector.collect(NOW_NS)).collection.up
    await collector.stop()
    assert [(line["event"], line.get("error"), line.get("exc_info")) for line in logged] == [
        ("collector failed", None, True),
        ("target is down", "AssertionError: a bug", None),
        ("target is up", None, None),
    ]


OPENMETRICS = "Content-Type: application/openmetrics-text; version=1.0.0"


async def test_an_exemplar_behind_two_blanks_is_passed_over(collector: ExpositionCollector, server: Server) -> None:
    server.answer = respond(BODY.rstrip(b"\n") + b'  # {trace_id="x"} 1\n# EOF\n', OPENMETRICS)
    for _ in range(3):
        batch = await collector.collect(NOW_NS)
        assert batch.collection.up


@pytest.mark.parametrize(
    ("answer", "down"),
    [
        (respond(BODY.rstrip(b"\n"), "Content-Type: text/html"), DownReason.NOT_EXPOSITION),
        (raw(b"HTTP/1.0 200 OK\r\n\r\n" + BODY.rstrip(b"\n"), close=True), DownReason.TRUNCATED),
    ],
)
async def test_a_response_is_judged_the_same_when_its_layout_is_known(
    server: Server, ledger: Ledger, answer: Answer, down: DownReason
) -> None:
    collector = make(server.address, ledger, backoff_intervals_max=1)
    server.answer = respond(BODY.rstrip(b"\n"))
    assert (await collector.collect(NOW_NS)).collection.up
    server.answer = answer
    assert (await collector.collect(NOW_NS)).collection.down is down
    await collector.stop()
