"""Each configured target once, however rarely it is collected: what answers, what does not, and what nothing maps."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from ingest.collectors.base import Collectors, Emit
from ingest.config import IngestConfig
from ingest.once import Outcome, collect_once
from telemetry.catalogue import OwnMetric, define
from telemetry.samples import Collection, SampleBatch
from telemetry.series import SeriesTable

BODY = b'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1"} 300\nnode_vendor_secret{a="1"} 1\nnode_vendor_secret{a="2"} 2\n'


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))


async def hang(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


@pytest.fixture
async def addresses() -> AsyncIterator[tuple[str, str]]:
    """Of a server that answers and of one that takes the request and says nothing."""
    servers = [await asyncio.start_server(handler, "127.0.0.1", 0) for handler in (serve, hang)]
    answers, hangs = (f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers)
    yield answers, hangs
    for server in servers:
        server.close()


def config(*targets: str, **more: object) -> IngestConfig:
    job = {
        "job_name": "gpu",
        "source": "dcgm",
        "scrape_interval": "60s",
        "static_configs": [{"targets": list(targets)}],
    }
    return IngestConfig.model_validate({"scrape_configs": [job], **more})


async def outcomes(settings: IngestConfig, lasts_s: float = 20.0) -> dict[str, Outcome]:
    return {each.target: each for each in await collect_once(settings, time.time_ns, lasts_s)}


async def test_a_target_that_is_collected_once_a_minute_is_tried_at_once(addresses: tuple[str, str]) -> None:
    answers, _ = addresses
    found = await outcomes(config(answers, "127.0.0.1:1"))
    assert {name: each.problem for name, each in found.items()} == {
        f"gpu/{answers}": "",
        "gpu/127.0.0.1:1": "refused",
    }
    batch = found[f"gpu/{answers}"].batch
    assert batch is not None
    assert batch.values.tolist() == [1.0, 300.0]  # what the GPU is, and its power
    assert found[f"gpu/{answers}"].unmapped == ["node_vendor_secret"]
    assert batch.collection.unmapped == 2


async def test_what_nothing_maps_is_kept_when_that_is_asked_for(addresses: tuple[str, str]) -> None:
    answers, _ = addresses
    job = {"job_name": "gpu", "source": "dcgm", "static_configs": [{"targets": [answers]}], "unmapped": "keep"}
    settings = IngestConfig.model_validate({"scrape_configs": [{**job, "unmapped_series_max": 1}]})
    (found,) = (await outcomes(settings)).values()
    assert found.batch is not None
    kept = [key for key in found.batch.table.keys if key.startswith("node_vendor")]
    assert (kept, found.batch.collection.unmapped) == (['node_vendor_secret{a="1",device="127.0.0.1"}'], 1)
    assert found.unmapped == ["node_vendor_secret"]


async def test_a_metric_of_the_user_s_own_is_collected_from_a_source_of_its_own(addresses: tuple[str, str]) -> None:
    answers, _ = addresses
    origin = {"source": "mine", "name": "node_vendor_secret", "labels": {"part": "{a}"}, "scale": 10}
    fields = {"name": "vendor_secret_ratio", "kind": "gauge", "unit": "ratio", "labels": ["part"], "help": "A secret."}
    define([OwnMetric.model_validate({**fields, "origins": [origin]})])
    job = {"job_name": "own", "source": "mine", "static_configs": [{"targets": [answers]}]}
    (found,) = (await outcomes(IngestConfig.model_validate({"scrape_configs": [job]}))).values()
    define(())
    assert found.batch is not None
    samples = dict(zip(found.batch.table.keys, found.batch.values.tolist(), strict=True))
    labels = 'device="127.0.0.1",part='
    assert samples == {f'vendor_secret_ratio{{{labels}"1"}}': 10.0, f'vendor_secret_ratio{{{labels}"2"}}': 20.0}
    assert found.unmapped == ["DCGM_FI_DEV_POWER_USAGE"]


async def test_one_that_hangs_is_given_up_and_delays_no_other(addresses: tuple[str, str]) -> None:
    answers, hangs = addresses
    found = await outcomes(config(answers, hangs), lasts_s=5.0)  # enough for the other one on a busy machine
    assert {name: each.problem for name, each in found.items()} == {
        f"gpu/{answers}": "",
        f"gpu/{hangs}": "timeout: nothing within 5 s",
    }


async def test_a_switch_that_refuses_is_listed_with_the_reason() -> None:
    job = {
        "job_name": "leaves",
        "targets": [{"address": "127.0.0.1:1", "device": "leaf1"}],
        "tls": {"insecure": True},
    }
    found = await outcomes(IngestConfig.model_validate({"gnmi_configs": [job]}), lasts_s=1.0)
    (only,) = found.values()
    assert (only.target, bool(only.problem)) == ("leaves/127.0.0.1:1", True)


async def test_a_list_of_targets_that_cannot_be_read_is_a_line_of_its_own(tmp_path: Path) -> None:
    job = {"job_name": "gpu", "source": "dcgm", "file_sd_configs": [{"files": [str(tmp_path / "*.json")]}]}
    (tmp_path / "nodes.json").write_text("{")
    found = await outcomes(IngestConfig.model_validate({"scrape_configs": [job]}))
    assert found["gpu"].problem == "its list of targets cannot be read"


async def test_only_those_that_are_wanted_and_progress_counts_them(addresses: tuple[str, str]) -> None:
    answers, hangs = addresses
    shown: list[tuple[int, int]] = []
    found = await collect_once(
        config(answers, hangs), time.time_ns, 20.0, lambda name: name == f"gpu/{answers}", lambda *at: shown.append(at)
    )
    assert [each.target for each in found] == [f"gpu/{answers}"]
    assert shown == [(1, 1)]


async def test_a_fault_of_ours_in_a_stream_is_no_silence_of_its_target(monkeypatch: pytest.MonkeyPatch) -> None:
    async def run(*_: object) -> None:
        raise ValueError("of ours")

    monkeypatch.setattr("ingest.collectors.gnmi.collector.GnmiCollector.run", run)
    job = {"job_name": "leaves", "targets": [{"address": "127.0.0.1:1", "device": "leaf1"}], "tls": {"insecure": True}}
    (only,) = (await outcomes(IngestConfig.model_validate({"gnmi_configs": [job]}))).values()
    assert only.problem == "internal: ValueError: of ours"


async def test_each_target_that_a_receiver_is_pushed_is_a_line_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    class Receiver:
        name, unmapped = "otlp/0.0.0.0:4317", frozenset({"vendor_total"})

        async def run(self, emit: Emit) -> None:
            for name, size in (("a", 2), ("b", 1), ("a", 1)):
                table = SeriesTable(f"otlp/{name}", name, tuple(f"s{row}" for row in range(size)))
                rows = np.arange(size, dtype=np.uint32)
                collection = Collection(1, 0, 5, 0.0, unmapped=7, left_out=size)
                emit(SampleBatch(table, collection, np.full(size, 5), rows, np.ones(size)))

    section = Collectors(streaming=[Receiver()])
    monkeypatch.setattr("ingest.once.build_collectors", lambda *_: [section])
    found = await outcomes(IngestConfig())
    read = {
        name: (len(each.batch), each.batch.collection.left_out, each.unmapped)
        for name, each in found.items()
        if each.batch is not None
    }
    assert read == {"otlp/a": (2, 2, ["vendor_total"]), "otlp/b": (1, 1, ["vendor_total"])}


async def test_one_device_is_not_asked_by_all_of_its_targets_at_once() -> None:
    """As in the stage: its limits are those of the device, whoever asks."""
    asked: list[asyncio.StreamWriter] = []
    busiest = 0

    async def answer_when_alone(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal busiest
        await reader.readuntil(b"\r\n\r\n")
        asked.append(writer)
        busiest = max(busiest, len(asked))
        for _ in range(100):  # turns of the loop: others would come meanwhile
            await asyncio.sleep(0)
        asked.remove(writer)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(BODY), BODY))

    servers = [await asyncio.start_server(answer_when_alone, "127.0.0.1", 0) for _ in range(4)]
    targets = [f"127.0.0.1:{server.sockets[0].getsockname()[1]}" for server in servers]
    found = await outcomes(config(*targets, scheduler={"device_requests_max": 1}))
    assert [each.problem for each in found.values()] == [""] * 4
    assert busiest == 1
    for server in servers:
        server.close()


async def test_a_target_whose_device_is_busy_for_too_long_was_not_asked(addresses: tuple[str, str]) -> None:
    _, hangs = addresses
    job = {"source": "dcgm", "scrape_interval": "600ms", "static_configs": [{"targets": [hangs]}]}
    jobs = [{**job, "job_name": name} for name in ("one", "other")]
    settings = IngestConfig.model_validate({"scrape_configs": jobs, "scheduler": {"device_requests_max": 1}})
    problems = sorted(each.problem for each in (await outcomes(settings)).values())
    assert problems == ["not asked: other targets of its device were, for as long as it waits", "timeout"]
