"""What the specifications of remote write 1.0 and 2.0 ask of a sender, against receivers that check it, and real ones.

The strict receiver checks each request: headers, compression, labels, symbols, metadata, order and stale markers.
"""

import asyncio
import dataclasses
import threading
from collections import Counter
from functools import partial

import pytest

from bus.base import Message
from export.remote_write.config import RemoteWriteConfig
from export.remote_write.position import Position
from export.remote_write.service import RemoteWriteService
from export.remote_write.stage import ExportStage
from telemetry import topics
from telemetry.codec.records import encode_record
from telemetry.samples import DownReason, SampleBatch
from telemetry.series import SeriesTable, series_key
from tests.servers.strict_receiver import STALE
from tests.servers.webhook import RESET, Answer
from tests.unit.export.batch_factory import S, batch, table
from tests.unit.export.test_remote_write_service import now_s
from tests.unit.export.test_state_series import finding, incident
from tests.unit.traffic import publish_batches
from tests.waiting import DEADLINE_S, until

VERSIONS = ["1.0", "2.0"]
WRITTEN = "X-Prometheus-Remote-Write-Samples-Written"


@pytest.fixture
def run(bus, tmp_path, replace):
    async def start(url: str, **settings: object) -> RemoteWriteService:
        settings = {"folder": tmp_path / "rw", "batch_wait_s": 0.05, "retry_first_s": 0.02} | settings
        stage = await replace(ExportStage([RemoteWriteConfig(url=url, **settings)], bus))
        service: RemoteWriteService = stage.services[0]
        return service

    return start


def has_accepted(service: RemoteWriteService, samples: int) -> bool:
    return service.report().samples_out == samples


def odd_table() -> SeriesTable:
    """Labels with what receivers stumble over: empty values, non-ASCII text, quotes, names that sort by their bytes."""
    labels = {"device": "nöde\n1", "Z": "1", "a": "", "port": 'swp"1\\'}
    keys = [series_key(name, labels | {"n": str(n)}) for n in range(40) for name in ("gpu_power_watts", "gpu_info")]
    return SeriesTable("odd/1", "nöde\n1", tuple(keys))


def gpus(server) -> list[tuple[str, int, int]]:
    """GPU, milliseconds and bits of what arrived of ``gpu_power_watts``."""
    return [
        (dict(labels)["gpu"], time_ms, bits)
        for labels, bits, time_ms, _ in server.samples
        if ("__name__", "gpu_power_watts") in labels and "gpu" in dict(labels)
    ]


@pytest.mark.parametrize("version", VERSIONS)
async def test_every_request_is_as_the_specification_has_it(run, bus, strict_receiver, version):
    server = strict_receiver(version)
    service = await run(
        server.base_url, protocol=version, max_samples_per_send=37, external_labels={"cluster": "pod1", "zz": "9"}
    )
    start_s = now_s() - 60
    await publish_batches(
        bus,
        *(batch((start_s + n) * S, of=odd_table(), seq=n) for n in range(3)),
        *(
            batch((start_s + n) * S, of=table(5), seq=n, values=[n, -0.0, float("inf"), 1e-320, 1e300])
            for n in range(4)
        ),
        batch((start_s + 4) * S, of=table(3), seq=4),
        batch((start_s + 5) * S, of=table(3), seq=5, down=DownReason.REFUSED),
    )
    await bus.publish(topics.FINDINGS, [Message(b"f1", encode_record(finding()))])
    begun = dataclasses.replace(incident(), onset_ns=(start_s - 3) * S)
    await bus.publish(topics.INCIDENTS, [Message(b"i1", encode_record(begun))])
    await until(lambda: service.report().samples_out == 3 * 80 + 4 * 5 + 3)
    await until(lambda: "fabricscope_incident" in server.metadata)
    ended = [(gpu, time_ms) for gpu, time_ms, bits in gpus(server) if bits == STALE]
    assert ended == [
        *((f"GPU-{n}", (start_s + 4) * 1000) for n in (3, 4)),
        *((f"GPU-{n}", (start_s + 5) * 1000) for n in range(3)),
    ], "a series ends that left its table, or whose target is down"
    assert {each[3] for each in server.samples} == {version}
    assert server.metadata["gpu_power_watts"][0] == 2
    assert server.metadata["gpu_power_watts"][1] != ""
    assert server.metadata["gpu_power_watts"][2] == "watts"
    assert server.metadata["fabricscope_incident_gpu_seconds_total"][0] == 1
    begins_ms = {(start_s - 3) * 1000} if version == "2.0" else {0}
    assert set(server.begins_ms["fabricscope_incident_gpu_seconds_total"]) == begins_ms
    assert set(server.begins_ms["gpu_power_watts"]) == {0}
    assert server.metadata["gpu_info"][0] == 6
    assert ("cluster", "pod1") in server.samples[0][0]


async def test_both_versions_say_the_same(run, bus, strict_receiver):
    servers = {version: strict_receiver(version) for version in VERSIONS}
    start_s = now_s() - 60
    await publish_batches(bus, *(batch((start_s + n) * S, of=table(7), seq=n) for n in range(5)))
    for version, server in servers.items():
        service = await run(server.base_url, protocol=version, name=f"v{version[0]}")
        await until(partial(has_accepted, service, 35))
    first, second = ([each[:3] for each in server.samples] for server in servers.values())
    assert first == second
    assert all(servers["1.0"].metadata[name] == about for name, about in servers["2.0"].metadata.items())


# ---- which version is spoken


@pytest.mark.parametrize(
    ("speaks", "ignores_type", "spoken"),
    [(("1.0", "2.0"), False, "2.0"), (("1.0",), False, "1.0"), (("1.0",), True, "1.0")],
    ids=["both", "415", "reads every body as 1.0"],
)
async def test_auto_finds_the_version_and_loses_nothing(run, bus, strict_receiver, speaks, ignores_type, spoken):
    server = strict_receiver(*speaks, ignores_type=ignores_type)
    service = await run(server.base_url)
    start_s = now_s() - 60
    for n in range(3):
        await publish_batches(bus, batch((start_s + n) * S, seq=n))
        await until(partial(has_accepted, service, 3 * (n + 1)))
    assert len(gpus(server)) == 9
    assert {each[3] for each in server.samples} == {spoken}
    of_second = [each for each in server.requests if "v2" in each.headers["content-type"]]
    assert len(of_second) == (len(server.requests) if spoken == "2.0" else 1), "it asks once"


async def test_auto_takes_a_400_to_the_first_request_of_2_0_for_the_answer_of_1_0(run, bus, strict_receiver):
    server = strict_receiver("1.0")
    server.script.append(Answer(400, body=b"proto: wrong wireType"))
    service = await run(server.base_url)
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: service.report().samples_out == 3)
    assert service.report().dropped["rejected"] == 0


@pytest.mark.parametrize("ignores_type", [True, False])
async def test_a_receiver_that_does_not_know_the_version_that_is_set_loses_nothing(
    run, bus, strict_receiver, ignores_type
):
    server = strict_receiver("1.0", ignores_type=ignores_type)
    service = await run(server.base_url, protocol="2.0", retry_most_s=0.1)
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: "does not know remote write 2.0: set protocol to auto" in (service.problem() or ""))
    assert service.report().held == 3
    server.speaks, server.ignores_type = ("1.0", "2.0"), False
    await until(lambda: service.report().samples_out == 3)


# ---- answers


@pytest.mark.parametrize("version", VERSIONS)
async def test_5xx_and_429_are_repeated_as_they_were_with_growing_waits(run, bus, strict_receiver, version):
    server = strict_receiver(version)
    server.script += [Answer(500), Answer(503, (("Retry-After", "0"),)), Answer(429, (("Retry-After", "1"),)), RESET]
    service = await run(server.base_url, protocol=version, batch_wait_s=0.2, state_interval_s=100)
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: service.report().samples_out == 3)
    assert len({request.body for request in server.requests[:5]}) == 1
    assert len(gpus(server)) == 3


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("status", [400, 408, 409, 413, 422])
async def test_no_request_that_was_answered_with_4xx_is_sent_again(run, bus, strict_receiver, version, status):
    server = strict_receiver(version)
    bad = {"GPU-7", "GPU-400"}

    refused: Counter[bytes] = Counter()

    def refuse(samples):
        if any(dict(labels).get("gpu") in bad for labels, *_ in samples):
            refused[server.requests[-1].body] += 1
            return Answer(status, body=b"no")
        return None

    server.refuse = refuse
    service = await run(server.base_url, protocol=version, state_interval_s=100)
    await publish_batches(bus, batch(now_s() * S, of=table(500)))
    await until(lambda: service.report().samples_in == 500 and service.report().held == 0)
    assert (service.report().samples_out, service.report().dropped["rejected"]) == (498, 2)
    assert {gpu for gpu, *_ in gpus(server)} == {f"GPU-{n}" for n in range(500)} - bad
    assert max(refused.values()) == 1
    assert len(server.requests) < 60, "probes, and about two for each halving"


@pytest.mark.parametrize("status", [401, 403, 404, 415])
async def test_samples_wait_for_the_operator_or_are_dropped_as_the_settings_say(run, bus, strict_receiver, status):
    server = strict_receiver("1.0")
    server.refuse = lambda samples: Answer(status)
    service = await run(server.base_url, protocol="1.0", retry_most_s=0.1)
    await publish_batches(bus, batch(now_s() * S))
    await until(lambda: f"answered {status}: check url and credentials" in (service.problem() or ""))
    assert service.report().held == 3
    server.refuse = lambda samples: None
    await until(lambda: service.report().samples_out == 3)
    server.refuse = lambda samples: Answer(status)
    service = await run(server.base_url, protocol="1.0", not_let_in="drop")
    begins = len(server.requests)
    await publish_batches(bus, batch((now_s() + 1) * S, seq=1))
    await until(lambda: service.report().dropped["rejected"] == 3)
    assert max(Counter(request.body for request in server.requests[begins:]).values()) == 1


async def test_a_stop_right_after_a_request_repeats_none_of_it(run, bus, strict_receiver, monkeypatch):
    server = strict_receiver("1.0")
    busy, free = threading.Event(), threading.Event()

    def look(position: Position) -> None:
        busy.set()
        free.wait(DEADLINE_S)

    with monkeypatch.context() as patch:
        patch.setattr(Position, "problem", look)  # on the thread that the position is saved on
        service = await run(server.base_url, protocol="1.0")
        await until(busy.is_set)
        await publish_batches(bus, batch(now_s() * S))
        await until(lambda: service.report().samples_out == 3)
        stopping = asyncio.create_task(service.stop())
        await asyncio.sleep(0.1)  # what waits for that thread is cancelled meanwhile
        free.set()
        await stopping
    service = await run(server.base_url, protocol="1.0")
    await publish_batches(bus, batch((now_s() + 1) * S, seq=1))
    await until(lambda: service.report().samples_out == 3)
    assert len(gpus(server)) == 6


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_receiver_that_refuses_everything_costs_two_requests_each(run, bus, strict_receiver, version):
    server = strict_receiver(version)
    server.refuse = lambda samples: Answer(400, body=b"read only")
    service = await run(server.base_url, protocol=version, max_samples_per_send=1000, state_interval_s=100)
    start_s = now_s() - 60
    await publish_batches(bus, *(batch((start_s + n) * S, of=table(500), seq=n) for n in range(20)))
    await until(lambda: service.report().dropped["rejected"] == 10_000)
    requests = 10 + 1  # of 1,000 samples, and what was made here beside them
    assert len(server.requests) <= 2 * requests + 8 + 2
    server.refuse = lambda samples: None
    await publish_batches(bus, batch((start_s + 30) * S, of=table(500), seq=30))
    await until(lambda: service.report().samples_out == 500)


async def test_much_that_is_bad_among_good_costs_a_bounded_number_of_requests(run, bus, strict_receiver):
    server = strict_receiver("1.0")

    def refuse(samples):
        odd = any(int(dict(labels).get("gpu", "GPU-0")[4:]) % 2 for labels, *_ in samples)
        return Answer(400, body=b"odd") if odd else None

    server.refuse = refuse
    service = await run(server.base_url, protocol="1.0", state_interval_s=100)
    await publish_batches(bus, batch(now_s() * S, of=table(5000)))
    await until(lambda: service.report().samples_in == 5000 and service.report().held == 0)
    assert len(server.requests) < 400
    assert service.report().balance == 0


async def test_what_a_receiver_says_it_has_written_of_a_refused_request_is_believed(run, bus, strict_receiver):
    server = strict_receiver("2.0")
    server.script += [Answer(400, ((WRITTEN, "2"),), b"one is too old")]
    service = await run(server.base_url, protocol="2.0", batch_wait_s=0.3, state_interval_s=100)
    await publish_batches(bus, batch(now_s() * S, of=table(100), rows=[7]))
    await until(lambda: service.report().samples_out + service.report().dropped["rejected"] == 1)
    assert len(server.requests) == 1
    assert service.report().dropped["rejected"] == 1


async def test_reserved_headers_cannot_be_set():
    for header in ("Content-Type", "user-agent", "X-Prometheus-Remote-Write-Version", "Content-Encoding"):
        with pytest.raises(ValueError, match="set by the protocol"):
            RemoteWriteConfig(url="http://a", headers={header: "x"})


# ---- real receivers


def two_targets(start_s: int) -> list[SampleBatch]:
    """Three collections of one target, of which one series leaves."""
    return [
        batch(start_s * S, seq=0),
        batch((start_s + 10) * S, seq=1),
        batch((start_s + 20) * S, of=table(2), seq=2),
    ]


async def test_prometheus_2_gets_1_0_and_all_samples(run, bus, prometheus):
    service = await run(prometheus.write_url)
    start_s = now_s() - 60
    await publish_batches(bus, *two_targets(start_s))
    await until(lambda: service.report().samples_out == 8)
    counts = prometheus.query("count_over_time(gpu_power_watts[5m])", start_s + 20)
    assert sorted((each["metric"]["gpu"], each["value"][1]) for each in counts) == [
        ("GPU-0", "3"),
        ("GPU-1", "3"),
        ("GPU-2", "2"),
    ]
    assert len(prometheus.query("gpu_power_watts", start_s + 20)) == 2, "the third has ended"
    assert service.report().dropped["rejected"] == 0


async def test_victoria_metrics_gets_all_samples(run, bus, victoria_metrics):
    service = await run(victoria_metrics.write_url, external_labels={"cluster": "pod1"})
    start_s = now_s() - 60
    await publish_batches(bus, *two_targets(start_s))
    await until(lambda: service.report().samples_out == 8)
    await until(lambda: len(victoria_metrics.export("gpu_power_watts")) == 3)
    found = {each["metric"]["gpu"]: each for each in victoria_metrics.export("gpu_power_watts")}
    assert found["GPU-0"]["timestamps"] == [(start_s + 10 * n) * 1000 for n in range(3)]
    assert found["GPU-2"]["metric"] == {
        "__name__": "gpu_power_watts",
        "cluster": "pod1",
        "device": "node1",
        "gpu": "GPU-2",
    }
    assert [value for value in found["GPU-2"]["values"] if value is not None] == [2, 2]
