import asyncio
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from prometheus_client import REGISTRY
from pydantic import ValidationError

from bus.base import Message
from bus.deadletter import REASON
from bus.owner.fence import EPOCH
from bus.owner.sending import EPOCH_HEADER, ROLE_HEADER
from common.errors import ConfigError
from common.secrets import BasicAuth
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.encoder import SampleBlock, encode_request
from export.remote_write.labels import encode_labels, join
from export.remote_write.service import RemoteWriteService
from export.remote_write.stage import ExportStage
from telemetry import topics
from telemetry.codec.batch import encode_batch
from telemetry.codec.records import encode_record
from telemetry.findings import FindingState
from telemetry.samples import DownReason
from telemetry.topology import Device, Job, Role, TopologyFact
from tests.servers.prometheus import Prometheus
from tests.servers.webhook import HANG, RESET, Answer, Request, WebhookServer
from tests.unit.export.batch_factory import S, batch, table
from tests.unit.export.prompb import flat
from tests.unit.export.test_state_series import finding, incident
from tests.unit.traffic import first_report, publish_batches
from tests.waiting import DEADLINE_S, until

OWNER, OWNER_EPOCH = ROLE_HEADER.lower(), EPOCH_HEADER.lower()
STALE = "fabricscope_export_records_dropped_total"


@pytest.fixture
def run(bus, tmp_path, replace):
    """Starts remote write to a url in place of the one before."""

    async def start(url: str, **settings: object) -> RemoteWriteService:
        settings = {"folder": tmp_path / "rw", "batch_wait_s": 0.05, "retry_first_s": 0.02} | settings
        stage = await replace(ExportStage([RemoteWriteConfig(url=url, **settings)], bus))
        service: RemoteWriteService = stage.services[0]
        return service

    return start


def push(server: Prometheus, body: bytes) -> None:
    """What some other writer sent."""
    headers = {"Content-Encoding": "snappy", "Content-Type": "application/x-protobuf"}
    urllib.request.urlopen(urllib.request.Request(server.write_url, body, headers), timeout=DEADLINE_S).close()


def now_s() -> int:
    return int(time.time())


def values(server: Prometheus, query: str, at_s: float | None = None) -> dict[str, float]:
    """By GPU, or by what distinguishes the series."""
    found = server.query(query, at_s)
    return {each["metric"].get("gpu", each["metric"].get("target", "")): float(each["value"][1]) for each in found}


async def test_samples_arrive_at_a_real_prometheus_with_their_values_and_times(run, bus, prometheus):
    service = await run(prometheus.write_url, external_labels={"cluster": "pod1"})
    start_s = now_s() - 60
    rounds = [batch((start_s + 10 * n) * S, seq=n, values=[n + 0.5, -1e300, float("inf")]) for n in range(5)]
    await publish_batches(bus, *rounds)
    await until(lambda: service.report().samples_out == 15)
    (series,) = prometheus.query_range('gpu_power_watts{gpu="GPU-0"}', start_s, start_s + 40, 10)
    assert series["metric"] == {"__name__": "gpu_power_watts", "cluster": "pod1", "device": "node1", "gpu": "GPU-0"}
    assert series["values"] == [[start_s + 10 * n, str(n + 0.5)] for n in range(5)]
    assert values(prometheus, "gpu_power_watts", start_s + 40) == {"GPU-0": 4.5, "GPU-1": -1e300, "GPU-2": float("inf")}
    assert values(prometheus, 'up{device="node1"}', start_s + 40) == {"dcgm/node1:9400": 1.0}
    assert values(prometheus, "scrape_duration_seconds", start_s + 40) == {"dcgm/node1:9400": 0.25}
    assert service.report().balance == 0
    assert service.report().held == 0


async def test_a_target_that_is_down_and_a_series_that_is_gone_answer_nothing_at_once(run, bus, prometheus):
    service = await run(prometheus.write_url)
    start_s = now_s() - 60
    other = table(3, target="node/node1:9100", first=10)
    await publish_batches(bus, batch(start_s * S), batch(start_s * S, of=other))
    await publish_batches(
        bus, batch((start_s + 10) * S, of=table(2)), batch((start_s + 10) * S, of=other, down=DownReason.REFUSED)
    )
    await until(lambda: service.report().samples_out == 8)
    await until(lambda: "node/node1:9100" in values(prometheus, "up == 0", start_s + 10))
    assert sorted(values(prometheus, "gpu_power_watts", start_s + 9)) == [f"GPU-{n}" for n in (0, 1, 10, 11, 12, 2)]
    assert sorted(values(prometheus, "gpu_power_watts", start_s + 10)) == ["GPU-0", "GPU-1"]


async def test_a_receiver_that_is_killed_in_mid_stream_loses_nothing(run, bus, prometheus):
    service = await run(prometheus.write_url, max_samples_per_send=7)
    start_s = now_s() - 200
    for n in range(100):
        await publish_batches(bus, batch((start_s + n) * S, seq=n))
        if n == 40:
            prometheus.kill()
        if n == 60:
            await until(lambda: service.problem() is not None)
            prometheus.start()
    await until(lambda: service.report().samples_out == 300)
    counts = values(prometheus, "count_over_time(gpu_power_watts[5m])", start_s + 100)
    assert counts == {"GPU-0": 100.0, "GPU-1": 100.0, "GPU-2": 100.0}
    assert service.problem() is None


async def test_a_restart_of_the_exporter_loses_and_repeats_nothing_visible(run, bus, prometheus):
    start_s = now_s() - 200
    service = await run(prometheus.write_url)
    for n in range(60):
        await publish_batches(bus, batch((start_s + n) * S, seq=n))
        if n % 20 == 10:
            service = await run(prometheus.write_url)
    await until(lambda: values(prometheus, "count_over_time(gpu_power_watts[5m])", start_s + 60).get("GPU-0") == 60.0)
    assert service.report().balance == 0


async def test_one_bad_series_costs_itself_at_a_real_prometheus(run, bus, prometheus):
    start_s = now_s() - 100
    ahead = encode_labels("gpu_power_watts", {"device": "node1", "gpu": "GPU-321"}, {})
    bits = np.array([1.0]).view(np.uint64)
    later = SampleBlock(join([ahead]), np.array([0]), np.array([(start_s + 50) * 1000]), bits)
    push(prometheus, encode_request([later]))
    service = await run(prometheus.write_url)
    await publish_batches(bus, batch(start_s * S, of=table(500)))
    await until(lambda: service.report().held == 0 and service.report().samples_in == 500)
    assert service.report().dropped["rejected"] == 1
    assert len(values(prometheus, "gpu_power_watts", start_s)) == 499
    assert "GPU-321" not in values(prometheus, "gpu_power_watts", start_s)


class _Picky(WebhookServer):
    """Refuses any request that holds a sample of a GPU that it does not like."""

    def __init__(self, *disliked: int) -> None:
        super().__init__()
        self.rows: list[tuple[str, float, int]] = []
        self._disliked = tuple(f"gpu=GPU-{n}" for n in disliked)

    def answer(self, request: Request) -> Answer:
        self.requests.append(request)
        rows = flat(request.body)
        if any(name.endswith(self._disliked) for name, _, _ in rows) and self._disliked:
            return Answer(400, body=b"no")
        self.rows += rows
        return Answer(204)


@pytest.fixture
def picky():
    servers: list[_Picky] = []

    def make(*disliked: int) -> _Picky:
        server = _Picky(*disliked)
        server.start()
        servers.append(server)
        return server

    yield make
    for server in servers:
        server.stop()


async def test_bad_series_anywhere_are_isolated_and_order_is_kept(run, bus, picky):
    server = picky(0, 57, 58, 99)
    start_s = now_s() - 100
    service = await run(server.base_url)
    await publish_batches(bus, *(batch((start_s + n) * S, of=table(100), seq=n) for n in range(3)))
    await until(lambda: service.report().held == 0 and service.report().samples_in == 300)
    assert (service.report().samples_out, service.report().dropped["rejected"]) == (288, 12)
    times: dict[str, list[int]] = {}
    for name, _, time_ms in server.rows:
        times.setdefault(name, []).append(time_ms)
    assert len([name for name in times if name.startswith("gpu")]) == 96
    assert all(each == sorted(each) for each in times.values())


async def test_a_collection_of_which_nothing_is_accepted_is_not_divided_to_the_last_sample(run, bus, picky):
    server = picky(*range(1000))
    service = await run(server.base_url)
    await publish_batches(bus, batch(now_s() * S, of=table(1000)))
    await until(lambda: service.report().dropped["rejected"] == 1000)
    assert len(server.requests) < 40


async def test_trouble_that_passes_is_outlived(run, bus, picky):
    server = picky()
    script = [Answer(503), Answer(429, (("Retry-After", "0"),)), RESET, Answer(401), Answer(302), HANG]
    taken = server.answer
    server.answer = lambda request: script.pop(0) if script else taken(request)
    service = await run(server.base_url, retry_most_s=0.1, timeout_s=0.5)
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: service.problem() is not None)
    await until(lambda: service.report().samples_out == 3)
    assert service.report().dropped["rejected"] == 0
    assert script == []


async def test_a_slow_receiver_slows_the_reader_stop_is_quick_and_the_next_start_goes_on(
    run, bus, picky, webhook_server
):
    webhook_server.script.append(HANG)
    await publish_batches(bus, *(batch((now_s() - 500 + n) * S, seq=n) for n in range(400)))
    service = await run(webhook_server.base_url, max_samples_per_send=3, batch_wait_s=5.0)
    await until(lambda: len(webhook_server.requests) == 1)
    assert service.report().samples_in <= 3 * 64, "one poll and no more waits in memory"
    async with asyncio.timeout(25):  # the request that hangs has timeout_s, 30 s
        await service.stop()
        await service.stop()
    server = picky()
    await run(server.base_url)
    await until(lambda: len([row for row in server.rows if row[0].startswith("gpu")]) == 1200)


async def test_findings_and_incidents_are_series_that_end(run, bus, prometheus):
    await run(prometheus.write_url, state_interval_s=0.2)
    await bus.publish(topics.FINDINGS, [Message(b"f1", encode_record(finding()))])
    await bus.publish(topics.INCIDENTS, [Message(b"i1", encode_record(incident()))])
    await until(lambda: len(prometheus.query('fabricscope_incident{state="firing",incident_id="i1"} == 1')) == 1)
    await until(lambda: len(prometheus.query('fabricscope_finding_active{kind="link_down"}')) == 1)
    await bus.publish(topics.FINDINGS, [Message(b"f1", encode_record(finding(FindingState.CLEARED)))])
    await until(lambda: prometheus.query("fabricscope_finding_active") == [])
    assert len(prometheus.query("fabricscope_incident_gpu_seconds_total == 42")) == 1


async def test_places_and_jobs_reach_prometheus(run, bus, prometheus):
    facts = [TopologyFact(each, 1, "slurm") for each in (Device("node1", Role.HOST, "", "r1"), Job("4711", ("node1",)))]
    await bus.publish(topics.TOPOLOGY, [Message(fact.entity.key.encode(), encode_record(fact)) for fact in facts])
    await run(prometheus.write_url, state_interval_s=0.2)
    await until(lambda: prometheus.query('fabricscope_job_node{job_id="4711",device="node1"} == 1'))
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: len(prometheus.query('gpu_power_watts{device="node1",rack="r1"}')) == 3)


async def test_a_replaced_owner_shows_nothing_also_after_a_restart(run, bus, prometheus):
    await run(prometheus.write_url, state_interval_s=0.2)
    dropped = REGISTRY.get_sample_value(STALE, {"reason": "stale_owner"}) or 0.0
    old, new = ({EPOCH: epoch} for epoch in (b"5", b"6"))
    await bus.publish(topics.INCIDENTS, [Message(b"i1", encode_record(replace(incident(), id="i1")), new)])
    await until(lambda: len(prometheus.query('fabricscope_incident{incident_id="i1"} == 1')) == 1)
    await run(prometheus.write_url, state_interval_s=0.2)
    await bus.publish(topics.INCIDENTS, [Message(b"i2", encode_record(replace(incident(), id="i2")), old)])
    await bus.publish(topics.INCIDENTS, [Message(b"i3", encode_record(replace(incident(), id="i3")), new)])
    await until(lambda: len(prometheus.query('fabricscope_incident{incident_id="i3"} == 1')) == 1)
    assert prometheus.query('fabricscope_incident{incident_id="i2"}') == []
    assert REGISTRY.get_sample_value(STALE, {"reason": "stale_owner"}) == dropped + 1
    letters = bus.consume([topics.DEADLETTER], {})
    assert await letters.at_end(), "it is no corrupt record"
    await letters.stop()


async def test_a_bad_record_is_dead_lettered_and_the_rest_goes_on(run, bus, picky):
    server = picky()
    service = await run(server.base_url)
    value, headers = encode_batch(batch())
    await bus.publish(topics.SAMPLES, [Message(b"node1", value[:-1] + b"x", headers)])
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: service.report().samples_out == 3)
    letters = bus.consume([topics.DEADLETTER], {})
    (letter,) = await letters.poll(wait_s=5)
    await letters.stop()
    assert letter.headers[REASON] == b"checksum"


async def test_sign_in_and_headers(run, bus, picky, tmp_path):
    server = picky()
    password = tmp_path / "password"
    password.write_text("pässword\n")
    basic = BasicAuth(username="me", password_file=password)
    service = await run(server.base_url, protocol="1.0", basic_auth=basic, headers={"X-Scope-OrgID": "t1"})
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: service.report().samples_out == 3)
    headers = server.requests[0].headers
    assert headers["authorization"] == "Basic bWU6cMOkc3N3b3Jk"
    assert headers["x-scope-orgid"] == "t1"
    assert headers["x-prometheus-remote-write-version"] == "0.1.0"
    assert (headers["content-encoding"], headers["content-type"]) == ("snappy", "application/x-protobuf")


async def test_the_stage_reports_itself_on_the_ledger(run, bus, picky, monkeypatch):
    monkeypatch.setattr("export.remote_write.service.REPORT_S", 0.05)
    await run(picky().base_url)
    report = await first_report(bus)
    assert (report.stage, report.details["lag_records"]) == ("remote_write", 0.0)


async def test_receivers_of_one_process_have_one_owner_and_who_sends_to_one_of_them_replaces_nobody(
    bus, tmp_path, picky
):
    first, second = picky(), picky()
    configs = [
        RemoteWriteConfig(url=server.base_url, name=name, folder=tmp_path / "both", batch_wait_s=0.05)
        for name, server in (("one", first), ("two", second))
    ]
    both = ExportStage(configs, bus)
    alone = ExportStage([configs[0].model_copy(update={"folder": tmp_path / "alone"})], bus)
    await both.start()
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: first.requests and second.requests)
    requests = first.requests + second.requests
    assert len({(each.headers[OWNER], each.headers[OWNER_EPOCH]) for each in requests}) == 1
    await alone.start()
    await publish_batches(bus, batch((now_s() + 1) * S, seq=1))
    await until(lambda: [each.report().samples_out for each in both.services + alone.services] == [6, 6, 6])
    assert len({each.headers[OWNER] for each in first.requests}) == 2
    await both.stop()
    await alone.stop()


async def test_one_process_at_a_time_and_stop_before_start(bus, tmp_path):
    config = RemoteWriteConfig(url="http://127.0.0.1:1", folder=tmp_path)
    first, second = ExportStage([config], bus), ExportStage([config], bus)
    await second.stop()
    await first.start()
    with pytest.raises(ConfigError, match=r"process \d+ on .* uses it"):
        await second.start()
    await second.stop()
    await first.stop()


@pytest.mark.parametrize(
    "settings",
    [
        {"url": "ftp://x"},
        {"url": "http://x", "headers": {"Authorization": "Bearer x"}},
        {"url": "http://x", "external_labels": {"a-b": "c"}},
        {"url": "http://x", "external_labels": {"__name__": "c"}},
        {"url": "http://x", "bearer_token_file": Path("a"), "basic_auth": {"username": "u", "password_file": "p"}},
        {"url": "http://x", "unknown": 1},
    ],
)
def test_settings_that_cannot_work_are_refused(settings):
    with pytest.raises(ValidationError):
        RemoteWriteConfig.model_validate(settings)


async def test_a_damaged_position_is_said_and_what_it_lost_is_sent_again(run, bus, webhook_server, tmp_path):
    service = await run(webhook_server.url)
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: webhook_server.accepted)
    await service.stop()
    (tmp_path / "rw" / "default.sqlite").write_bytes(b"no database")
    sent_before = len(webhook_server.accepted)
    service = await run(webhook_server.url)
    await until(lambda: "default.sqlite was damaged" in str(service.problem()))
    await until(lambda: len(webhook_server.accepted) > sent_before)
