"""The HTTP API over a real bus, asked by a real client."""

import asyncio
import contextlib
import json
import signal
import urllib.parse
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from prometheus_client import REGISTRY
from pydantic import ValidationError

from alerts.config import AlertingConfig
from alerts.receivers.webhook.config import WebhookConfig
from alerts.service import AlertsService
from bus.base import Message
from bus.config import BusConfig, KafkaConfig
from bus.open import open_bus
from bus.owner.fence import EPOCH
from fabricscope.api.config import ApiConfig
from fabricscope.api.service import ApiService
from telemetry import objects, topics
from telemetry.codec.records import encode_record
from telemetry.findings import Evidence, FindingKind, FindingState
from telemetry.incidents import IncidentKind, IncidentState
from telemetry.ledger import StageReport
from telemetry.objects import ObjectKind, ObjectRef
from telemetry.runbooks import runbook
from telemetry.starvation import GpuLoss, HostLosses
from telemetry.trends import DeviceTrends, Forecast
from tests.servers.webhook import Answer
from tests.unit.fabricscope.api.traffic import PAUSE, eventually, finding, get, incident, publish_cluster
from tests.unit.traffic import publish_incidents
from tests.waiting import DEADLINE_S


async def test_incidents_come_worst_first(api, bus):
    await publish_incidents(bus, incident("cheap", gpu_seconds=1.0))
    await publish_incidents(bus, incident("expensive", gpu_seconds=9e9))
    await publish_incidents(bus, incident("over", IncidentState.RESOLVED, gpu_seconds=9e12))
    found = await eventually(api.url, "/api/v1/incidents", lambda body: len(body) == 3)
    assert [one["id"] for one in found] == ["expensive", "cheap", "over"]
    _, firing = await get(api.url, "/api/v1/incidents?state=firing")
    assert (await get(api.url, "/api/v1/incidents?since_first_seen=true"))[1] == []
    assert len((await get(api.url, "/api/v1/incidents?since_first_seen=false"))[1]) == 3
    assert [one["id"] for one in firing] == ["expensive", "cheap"]
    _, one = await get(api.url, "/api/v1/incidents/expensive")
    assert one["root"] == {"kind": "port", "name": "leaf1/Ethernet4"}


async def test_evidence_is_drawn_as_a_rate(api, bus):
    await publish_cluster(bus)
    await publish_incidents(bus, incident())
    await eventually(api.url, "/api/v1/incidents", len)
    await eventually(api.url, "/api/v1/targets", len)
    _, plots = await get(api.url, "/api/v1/incidents/i1/plots")
    assert [plot["series"] for plot in plots] == [PAUSE]
    assert len(plots[0]["times"]) == 29
    assert plots[0]["values"] == pytest.approx([0.6] * 29)
    assert (plots[0]["unit"], plots[0]["normal"]) == ("ratio", 0.0)


async def test_the_line_of_frames_is_no_share_of_time(api, bus):
    frames = PAUSE.replace("pause_seconds", "pause_frames")
    await publish_cluster(bus, frames)
    await publish_incidents(bus, replace(incident(), evidence=(Evidence(frames, 0.9, 0.1, "ratio at most"),)))
    await eventually(api.url, "/api/v1/incidents", len)
    await eventually(api.url, "/api/v1/targets", len)
    _, (plot,) = await get(api.url, "/api/v1/incidents/i1/plots")
    assert (plot["unit"], plot["normal"]) == ("frames/s", None)


async def test_targets_topology_and_ledger(api, bus):
    await publish_cluster(bus)
    targets = await eventually(api.url, "/api/v1/targets", len)
    assert targets[0]["target"] == "gnmi/leaf1"
    assert targets[0]["up"] is True
    topology = await eventually(api.url, "/api/v1/topology", len)
    assert topology[0]["name"] == "leaf1"
    assert (await get(api.url, "/api/v1/ledger"))[0] == 200


async def test_findings_are_listed_and_chosen_by_state(api, bus):
    for one in (finding("f1", FindingState.ACTIVE), finding("f2", FindingState.CLEARED)):
        await bus.publish(topics.FINDINGS, [Message(one.id.encode(), encode_record(one))])
    listed = await eventually(api.url, "/api/v1/findings", lambda body: len(body) == 2)
    assert {one["id"] for one in listed} == {"f1", "f2"}
    for state, identity in (("active", "f1"), ("cleared", "f2")):
        _, (one,) = await get(api.url, f"/api/v1/findings?state={state}")
        assert one["id"] == identity
        assert one["object"] == {"kind": "port", "name": "leaf1/Ethernet4"}
        assert one["evidence"] == [{"series": PAUSE, "value": 0.61, "normal": 0.0, "unit": "ratio"}]
    assert len((await get(api.url, "/api/v1/findings?limit=1"))[1]) == 1


async def test_the_ledger_shows_the_newest_report_and_what_is_missing(api, bus):
    dropped = {"stale": 3}
    old = StageReport("ingest", "a-1", epoch_ns=1, at_ns=2, samples_in=10, samples_out=10)
    new = StageReport("ingest", "a-1", 1, 3, 100, 80, deduplicated=5, held=10, dropped=dropped, details={"targets": 7})
    for one in (old, new):
        await bus.publish(topics.LEDGER, [Message(b"ingest/a-1", encode_record(one))])
    (shown,) = await eventually(
        api.url, "/api/v1/ledger", lambda body: body and body[0]["at"] == "1970-01-01T00:00:00.000000003Z"
    )
    assert shown["balance"] == 100 - 80 - 5 - 10 - 3
    assert shown["dropped"] == dropped
    assert shown["details"] == {"targets": 7}


async def test_lost_gpu_time_is_added_up_by_job_host_and_gpu(api, bus):
    lost = {"storage": 20.0, "peer": 5.0}
    node1 = HostLosses("node1", 9, (GpuLoss("GPU-0", "7", 1, 100.0, lost), GpuLoss("GPU-0", "8", 5, 50.0)))
    node2 = HostLosses("node2", 9, (GpuLoss("GPU-0", "7", 1, 100.0, {"peer": 40.0}),))
    for one in (node1, node2):
        await bus.publish(topics.STARVATION, [Message(one.device.encode(), encode_record(one))])
    jobs = await eventually(api.url, "/api/v1/starvation", lambda body: body and body[0]["gpus"] == 2)
    causes = {"storage": 20.0, "peer": 45.0}
    assert jobs[0] == {"name": "7", "gpus": 2, "watched_s": 200.0, "lost_s": 65.0, "causes_s": causes}
    assert [job["name"] for job in jobs] == ["7", "8"]
    _, hosts = await get(api.url, "/api/v1/starvation?by=host&job=7")
    assert [(host["name"], host["lost_s"]) for host in hosts] == [("node2", 40.0), ("node1", 25.0)]
    _, (gpu,) = await get(api.url, "/api/v1/starvation?by=gpu&limit=1")
    assert gpu["name"] == "node2/GPU-0"
    _, (cluster,) = await get(api.url, "/api/v1/starvation?by=cluster")
    assert cluster["lost_s"] == 65.0


async def test_records_of_objects_are_listed_worst_first_and_found_by_name(api, bus):
    often, once = incident("often"), incident("once")
    assert often.record is not None
    gpu = ObjectRef(ObjectKind.GPU, "node1/GPU-1")
    other = replace(often.record, object=gpu, score=0.5, line="")
    older = replace(often.record, score=9.0)
    await publish_incidents(bus, replace(once, record=other), replace(incident("none"), record=None))
    await publish_incidents(bus, often, replace(incident("older"), record=older, updated_ns=often.updated_ns - 1))
    listed = await eventually(api.url, "/api/v1/records", lambda body: len(body) == 2)
    assert [(one["object"]["name"], one["score"]) for one in listed] == [("leaf1/Ethernet4", 2.0), ("node1/GPU-1", 0.5)]
    assert await get(api.url, "/api/v1/records?kind=gpu") == (200, listed[1:])
    assert await get(api.url, "/api/v1/records/port:leaf1/Ethernet4") == (200, listed[0])


async def test_forecasts_are_listed_soonest_first(api, bus):
    port, target = (
        ObjectRef(ObjectKind.PORT, "leaf1/Ethernet0"),
        ObjectRef(ObjectKind.STORAGE_TARGET, "scratch/OST0000"),
    )
    light = Forecast("light", FindingKind.WEAR, port, "dBm", -3.0, -7.3, -0.4, 10.75, 9.1, None, 7.0)
    room = Forecast("room", FindingKind.CAPACITY, target, "ratio left", 0.3, 0.05, -0.05, 5.0, 4.8, 5.2, 7.0)
    for device, forecast in (("leaf1", light), ("oss1", room)):
        one = DeviceTrends(device, 9, (forecast,))
        await bus.publish(topics.TRENDS, [Message(one.id.encode(), encode_record(one))])
    listed = await eventually(api.url, "/api/v1/trends", lambda body: len(body) == 2)
    assert [one["series"] for one in listed] == ["room", "light"]
    assert listed[1]["days_high"] is None
    _, (worn,) = await get(api.url, "/api/v1/trends?kind=wear")
    assert worn["object"] == {"kind": "port", "name": "leaf1/Ethernet0"}


@pytest.mark.parametrize(
    ("path", "status", "kind"),
    [
        ("/api/v1/incidents/none", 404, "not_found"),
        ("/api/v1/records/port:leaf1/Ethernet4", 404, "not_found"),
        ("/api/v1/records/leaf1", 404, "not_found"),
        ("/api/v1/records?kind=cable", 422, "bad_data"),
        ("/api/v1/nowhere", 404, "not_found"),
        ("/api/v1/incidents?state=angry", 422, "bad_data"),
        ("/api/v1/findings?limit=0", 422, "bad_data"),
        ("/api/v1/incidents?limit=0", 422, "bad_data"),
        ("/api/v1/incidents?since=2026-11-26T14:00:00", 422, "bad_data"),  # of which zone?
        ("/api/v1/targets?size=5", 422, "bad_data"),
        ("/runbooks/nothing", 422, "bad_data"),
        ("/runbooks/wear?object=leaf1", 422, "bad_data"),
    ],
)
async def test_errors_have_one_form(api, path, status, kind):
    found, body = await get(api.url, path)
    assert found == status
    assert body["status"] == "error"
    assert body["errorType"] == kind
    assert body["error"]


async def test_a_parameter_that_a_route_does_not_know_is_named_with_those_that_it_does(api):
    _, body = await get(api.url, "/api/v1/findings?limt=5")
    assert body["error"] == "query.limt: expected cursor, kind, limit, object, state"
    _, body = await get(api.url, "/api/v1/ledger?limit=5")
    assert body["error"] == "query.limit: expected no parameter"


async def test_runbooks_are_served_with_the_names_of_an_object(api):
    status, text = await get(api.url, "/runbooks/gpu_fault?object=gpu:node1/GPU-5f3c")
    assert status == 200
    assert text == runbook(IncidentKind.GPU_FAULT, objects.gpu("node1", "GPU-5f3c"))


async def test_health_metrics_and_page(api):
    assert (await get(api.url, "/-/healthy"))[0] == 200
    assert (await get(api.url, "/-/ready"))[0] == 200
    assert "process_cpu_seconds_total" in (await get(api.url, "/metrics"))[1]
    status, page = await get(api.url, "/")
    assert status == 200
    assert "Fabricscope" in page


def counted(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(f"fabricscope_api_{name}_total", labels) or 0.0


@pytest.mark.parametrize(
    ("method", "path", "labels"),
    [
        ("GET", "/api/v1/incidents/none", ("GET", "/api/v1/incidents/{incident_id}", "404")),
        ("GET", "/metrics", ("GET", "/metrics", "200")),
        ("GET", "/hostile/path", ("GET", "other", "404")),
        ("BREW", "/pot", ("other", "other", "401")),
    ],
)
async def test_requests_are_counted_and_nothing_that_a_client_chooses_becomes_a_label(api, method, path, labels):
    sample = dict(zip(("method", "route", "status"), labels, strict=True))
    before = counted("requests", **sample)
    async with aiohttp.ClientSession() as session, session.request(method, api.url + path) as answer:
        assert str(answer.status) == labels[2]
    assert counted("requests", **sample) == before + 1


async def test_records_are_counted_and_a_corrupt_one_spoils_nothing(api, bus):
    topic = topics.FINDINGS.name
    consumed, corrupt = (
        counted("records_received", topic=topic),
        counted("records_corrupt", topic=topic, reason="schema"),
    )
    good = encode_record(finding("f1", FindingState.ACTIVE))
    await bus.publish(topics.FINDINGS, [Message(b"f0", b"{"), Message(b"f1", good)])
    await eventually(api.url, "/api/v1/findings", lambda body: len(body) == 1)
    assert counted("records_received", topic=topic) == consumed + 2
    assert counted("records_corrupt", topic=topic, reason="schema") == corrupt + 1


async def test_not_ready_while_the_bus_is_away(api, bus):
    await bus.stop()
    status, body = await get(api.url, "/-/ready")
    assert status == 503
    assert "bus" in body["error"]


async def test_without_a_broker_it_serves_and_reports_why_it_is_not_ready(tmp_path):
    absent = KafkaConfig(bootstrap=("127.0.0.1:1",), publish_deadline_s=0.1, attempt_deadline_s=0.1)
    bus = open_bus(BusConfig(kind="kafka", kafka=absent))
    await bus.start()
    service = ApiService(ApiConfig(port=0, state_dir=tmp_path / "api"), bus)
    await service.start()
    try:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(service.wait(), 3)  # several times the deadline of the bus
        status, body = await get(service.url, "/-/ready")
        assert (status, "127.0.0.1:1" in body["error"]) == (503, True)
    finally:
        await service.stop()
        await bus.stop()


async def test_signals_belong_to_the_program(bus, tmp_path):
    def stop(*_: object) -> None:
        raise AssertionError("nobody sends a signal")

    before = signal.signal(signal.SIGTERM, stop)
    try:
        service = ApiService(ApiConfig(port=0, state_dir=tmp_path / "api"), bus)
        await service.start()
        assert signal.getsignal(signal.SIGTERM) is stop
        await service.stop()
    finally:
        signal.signal(signal.SIGTERM, before)


async def test_not_ready_while_most_samples_are_dropped(api, bus):
    assert (await get(api.url, "/-/ready"))[0] == 200
    for at_ns, received, late in ((1, 0, 0), (2, 2256, 2048)):
        one = StageReport("analytics", "a-1", 1, at_ns, received, received - late, 0, 0, {"late": late})
        await bus.publish(topics.LEDGER, [Message(b"analytics/a-1", encode_record(one))])
    await eventually(api.url, "/-/ready", lambda body: "2,048 of 2,256 samples were dropped, mostly late" in str(body))
    assert (await get(api.url, "/-/ready"))[0] == 503


async def test_ready_says_what_waits_for_the_bus(api, bus):
    one = StageReport("ingest", "ingest-0", 1, 1, details={"spooled_seconds": 90.0})
    await bus.publish(topics.LEDGER, [Message(b"ingest/ingest-0", encode_record(one))])
    await eventually(api.url, "/-/ready", lambda body: "the last 90 s wait on the disk" in str(body))
    status, body = await get(api.url, "/-/ready")
    assert status == 200
    assert str(body).startswith("Fabricscope is ready.\n")


async def test_ready_says_which_receiver_refuses_what_people_are_sent(api, bus, tmp_path, webhook_server, monkeypatch):
    monkeypatch.setattr("alerts.service.REPORT_S", 0.1)
    webhook_server.script.append(Answer(404))
    receivers = (WebhookConfig(name="chat", url=webhook_server.url),)
    stage = AlertsService(AlertingConfig(folder=tmp_path / "alerts", receivers=receivers, reserve_bytes=0), bus)
    await stage.start()
    await publish_incidents(bus, incident())
    await eventually(api.url, "/-/ready", lambda body: ": chat: answered 404" in str(body))
    assert (await get(api.url, "/-/ready"))[0] == 200
    await stage.stop()


async def test_not_ready_while_a_replaced_owner_publishes(api, bus):
    for epoch in (b"6", b"5"):
        await bus.publish(topics.INCIDENTS, [Message(b"i1", encode_record(incident("i1")), {EPOCH: epoch})])
    await eventually(api.url, "/-/ready", lambda body: "replaced by a newer one still publishes" in str(body))
    assert (await get(api.url, "/-/ready"))[0] == 503


async def test_headers_keep_a_browser_safe(api):
    async with aiohttp.ClientSession() as session, session.get(api.url) as answer:
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'self'")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_another_host_name_is_refused(api):
    status, _ = await get(api.url, "/api/v1/incidents", headers={"Host": "rebound.example"})
    assert status == 400


async def test_a_token_is_asked_for(bus, tmp_path):
    token = tmp_path / "token"
    token.write_text("s3cret\n")
    service = ApiService(ApiConfig(port=0, state_dir=tmp_path / "api", bearer_token_file=token), bus)
    await service.start()
    try:
        assert (await get(service.url, "/api/v1/incidents"))[0] == 401
        assert (await get(service.url, "/api/v1/incidents", headers={"Authorization": "Bearer wrong"}))[0] == 401
        assert (await get(service.url, "/api/v1/incidents", headers={"Authorization": "Bearer s3cret"}))[0] == 200
    finally:
        await service.stop()


def test_beyond_loopback_needs_tls():
    with pytest.raises(ValidationError, match="reachable from elsewhere"):
        ApiConfig(host="0.0.0.0")
    assert ApiConfig(host="0.0.0.0", trusted_network=True).host == "0.0.0.0"


async def test_the_stream_sends_the_picture_and_again_when_it_changes(api, bus):
    async with aiohttp.ClientSession() as session, session.get(api.url + "/api/v1/stream") as answer:
        first = await next_picture(answer)
        assert first["incidents"] == []
        await publish_incidents(bus, incident())
        async with asyncio.timeout(DEADLINE_S):
            while not first["incidents"]:
                first = await next_picture(answer)
        assert first["incidents"][0]["id"] == "i1"


async def next_picture(answer: aiohttp.ClientResponse) -> dict[str, Any]:
    event = b""
    async for line in answer.content:
        event = line[7:].strip() if line.startswith(b"event: ") else event
        if line.startswith(b"data: ") and event == b"picture":
            picture: dict[str, Any] = json.loads(line[6:])
            return picture
    raise AssertionError("the stream ended")


@pytest.mark.parametrize("line", [b"X-Long: " + b"a" * 8192, b"X: 1\r\n"], ids=["one long header", "many headers"])
async def test_a_head_without_end_is_refused(api, line):
    """h11 keeps at most 64 KiB of a head that is not whole."""
    address = urllib.parse.urlsplit(api.url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    sent = 0
    writer.write(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    try:
        async with asyncio.timeout(DEADLINE_S):
            with contextlib.suppress(ConnectionError):
                while sent < 64 * 2**20 and not reader.at_eof():
                    writer.write(line)
                    await writer.drain()
                    sent += len(line)
                    await asyncio.sleep(0)
            answer = await reader.read()
    except ConnectionError:
        answer = b""  # it closed while more was on its way
    finally:
        writer.close()
    assert sent < 64 * 2**20
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")
    assert (await get(api.url, "/-/healthy"))[0] == 200
