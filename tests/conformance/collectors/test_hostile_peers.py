"""Collectors of lists and of controllers over HTTP, and discovery, against servers that do everything wrong.

Each failure has its reason, ends what was asked within its deadline, and costs no memory beyond the limits.
"""

import asyncio
import gzip
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from ingest.collectors.base import CollectorContext
from ingest.collectors.exposition.config import ScrapeConfig
from ingest.collectors.exposition.discovery import Discovery
from ingest.collectors.kubernetes.collector import KubernetesCollector
from ingest.collectors.kubernetes.config import Config as KubernetesConfig
from ingest.collectors.list_collector import ListCollector
from ingest.collectors.redfish.collector import redfish_collectors
from ingest.collectors.redfish.config import Config as RedfishConfig
from ingest.collectors.slurm.collector import SlurmCollector, SlurmNodesCollector
from ingest.collectors.slurm.config import Config as SlurmConfig
from ingest.collectors.slurm.config import NodesConfig
from ingest.ledger import Ledger
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.http_target import Server
from tests.memory import grows_by_less_than
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
from tests.servers.certificates import Certificates

BODY_BYTES_MAX = 1 << 20
UNPACKED = 512 << 20
HEAD = b"HTTP/1.1 200 OK\r\n"
HOSTILE: dict[str, tuple[Answer, DownReason]] = {
    "reset in the body": (reset, DownReason.RESET),
    "closed at once": (raw(b"", close=True), DownReason.CLOSED),
    "closed in the body": (raw(HEAD + b"Content-Length: 9999\r\n\r\n{", close=True), DownReason.TRUNCATED),
    "endless body": (endless, DownReason.TOO_LARGE),
    "endless headers": (raw(HEAD + b"X: y\r\n" * 20_000), DownReason.TOO_LARGE),
    "one endless header": (raw(HEAD + b"X" * 100_000), DownReason.TOO_LARGE),
    "stated to be 10 GB": (raw(HEAD + b"Content-Length: 10000000000\r\n\r\n"), DownReason.TOO_LARGE),
    "negative length": (raw(HEAD + b"Content-Length: -1\r\n\r\n"), DownReason.BAD_FORMAT),
    "garbage for chunks": (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n"), DownReason.BAD_FORMAT),
    "a chunk of 4 GB": (raw(HEAD + b"Transfer-Encoding: chunked\r\n\r\nffffffff\r\n"), DownReason.TOO_LARGE),
    "bomb": (respond(bomb(UNPACKED), "Content-Encoding: gzip"), DownReason.TOO_LARGE),
    "bomb in chunks": (chunked(bomb(UNPACKED), 1000, "Content-Encoding: gzip"), DownReason.TOO_LARGE),
    "no gzip": (respond(b"{}" * 99, "Content-Encoding: gzip"), DownReason.BAD_ENCODING),
    "half of gzip": (respond(gzip.compress(b"{}" * 99, mtime=0)[:-9], "Content-Encoding: gzip"), DownReason.TRUNCATED),
    "another encoding": (respond(b"{}", "Content-Encoding: br"), DownReason.BAD_ENCODING),
    "another protocol": (raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n\r\n"), DownReason.NOT_EXPOSITION),
    "redirect to itself": (respond(b"", "Location: /", status="302 Found"), DownReason.REDIRECT),
    "no permission": (respond(b"", status="403 Forbidden"), DownReason.AUTH),
    "broken": (respond(b"", status="503 Service Unavailable"), DownReason.HTTP_STATUS),
    "drips": (one_byte_a_second, DownReason.TIMEOUT),
    "silent": (silence, DownReason.TIMEOUT),
}


def settings(server: Server) -> dict[str, object]:
    return {"url": f"http://{server.address}", "body_bytes_max": BODY_BYTES_MAX}


def slurm_jobs(server: Server, timeout_s: float) -> ListCollector:
    return SlurmCollector(SlurmConfig.model_validate({**settings(server), "timeout_s": timeout_s}))


def slurm_nodes(server: Server, timeout_s: float) -> ListCollector:
    return SlurmNodesCollector(NodesConfig.model_validate({**settings(server), "timeout_s": timeout_s}))


def kubernetes(server: Server, timeout_s: float) -> ListCollector:
    own = {**settings(server), "decoded_bytes_max": BODY_BYTES_MAX, "timeout_s": timeout_s}
    context = CollectorContext(Ledger(0), lambda: 0, ThreadPoolExecutor(1))
    return KubernetesCollector(KubernetesConfig.model_validate(own), context)


Made = Callable[[Server, float], ListCollector]
GOOD: dict[Made, bytes] = {
    slurm_jobs: b'{"jobs": []}',
    slurm_nodes: b'{"nodes": []}',
    kubernetes: b'kube_node_spec_unschedulable{node="n1"} 0\n',
}


@pytest.mark.parametrize(("answer", "reason"), HOSTILE.values(), ids=HOSTILE)
@pytest.mark.parametrize("made", GOOD, ids=lambda made: made.__name__)
async def test_a_hostile_list_is_down_with_the_reason_and_the_next_good_one_is_read(
    server: Server, made: Made, answer: Answer, reason: DownReason
) -> None:
    collector = made(server, 0.5 if reason is DownReason.TIMEOUT else 30.0)
    server.answer = answer
    with grows_by_less_than(UNPACKED // 8):
        failed = await collector.collect(1)
    assert isinstance(failed, SampleBatch)
    assert failed.collection.down is reason
    await collector.stop()
    patient = made(server, 30.0)
    server.answer = respond(GOOD[made])
    assert not isinstance(await patient.collect(2), SampleBatch)
    await patient.stop()


async def test_a_list_is_read_over_tls_and_only_from_whom_the_settings_trust(
    server: Server, certificates: Certificates
) -> None:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate("server"), certificates.key("server"))
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    url = f"https://127.0.0.1:{listening.sockets[0].getsockname()[1]}/slurm/v0.0.41/jobs"
    server.answer = respond(GOOD[slurm_jobs])
    trusted = {"ca_file": certificates.authority, "server_name": "switch.example"}
    found = [
        await SlurmCollector(SlurmConfig.model_validate({"url": url, "tls_config": tls})).collect(1)
        for tls in (trusted, {**trusted, "server_name": "another.example"}, {}, {"ca_file": "absent.pem"})
    ]
    listening.close()
    downs = [output.collection.down if isinstance(output, SampleBatch) else None for output in found]
    assert downs == [None, DownReason.TLS, DownReason.TLS, DownReason.TLS]
    assert server.request.startswith(b"GET /slurm/v0.0.41/jobs HTTP/1.1")


@pytest.fixture
async def discovery(server: Server) -> Discovery:
    job = ScrapeConfig.model_validate(
        {"job_name": "n", "source": "node_exporter", "http_sd_configs": [{"url": f"http://{server.address}"}]}
    )
    server.answer = respond(b'[{"targets": ["a:1"]}]')
    made = Discovery(job)
    assert len(await made.refresh()) == 1
    return made


WAITING = {"a chunk of 4 GB", "drips", "silent"}  # until the deadline of 30 s
ANSWERED = {name: answer for name, (answer, _) in HOSTILE.items() if name not in WAITING}


@pytest.mark.parametrize("answer", ANSWERED.values(), ids=ANSWERED)
async def test_a_hostile_service_takes_no_target_away(server: Server, discovery: Discovery, answer: Answer) -> None:
    server.answer = answer
    with grows_by_less_than(UNPACKED // 8):
        assert [target.name for target in await discovery.refresh()] == ["n/a:1"]
    server.answer = respond(b"[]")
    assert await discovery.refresh() == []


SAID_OTHERWISE = {  # aiohttp has fewer words for what is wrong
    "reset in the body": DownReason.TRUNCATED,
    "endless headers": DownReason.CLOSED,
    "one endless header": DownReason.CLOSED,
    "negative length": DownReason.CLOSED,
    "garbage for chunks": DownReason.CLOSED,
    "a chunk of 4 GB": DownReason.TIMEOUT,
    "no gzip": DownReason.TRUNCATED,
    "half of gzip": DownReason.BAD_FORMAT,
    "another encoding": DownReason.CLOSED,
    "another protocol": DownReason.CLOSED,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_a_hostile_controller_is_down_with_a_reason(server: Server, name: str) -> None:
    answer, reason = HOSTILE[name]
    expected = SAID_OTHERWISE.get(name, reason)
    job = RedfishConfig.model_validate(
        {
            "scheme": "http",
            "targets": [{"address": server.address, "device": "node1"}],
            "timeout_s": 0.5 if expected is DownReason.TIMEOUT else 30.0,
            "limits": {"body_bytes_max": BODY_BYTES_MAX, "requests_per_s": 10_000},
        }
    )
    ledger = Ledger(0)
    with ThreadPoolExecutor(1) as workers:
        (collector,) = redfish_collectors([job], CollectorContext(ledger, lambda: 0, workers))
        server.answer = answer
        with grows_by_less_than(UNPACKED // 8):
            failed = await collector.collect(1)
        assert isinstance(failed, SampleBatch)
        assert failed.collection.down is expected
        assert ledger.samples_in == 0
        await collector.stop()
