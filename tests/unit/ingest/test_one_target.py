"""One target, once: what each of its series becomes, and why others become nothing."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from common.errors import ConfigError
from ingest.collectors.base import SourceSeries
from ingest.config import IngestConfig
from ingest.one_target import TargetReading, read_target
from telemetry.gnmi import gnmi_pb2
from tests.conformance.collectors.gnmi_peer import SYNC, Requests, Responses, job, response, serving
from tests.samples import SAMPLES

PAGE = b"""DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1",gpu="0"} 300
DCGM_FI_DEV_POWER_USAGE{UUID="GPU-2",gpu="1"} NaN
DCGM_FI_DEV_POWER_USAGE 5
node_vendor_secret{a="1"} 1
go_goroutines 8
"""


@asynccontextmanager
async def page(body: bytes = PAGE) -> AsyncIterator[str]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


def scraped(*addresses: str, **more: Any) -> IngestConfig:
    one = {"job_name": "gpu", "source": "dcgm", "static_configs": [{"targets": list(addresses)}]}
    return IngestConfig.model_validate({"scrape_configs": [{**one, **more}]})


async def read(config: IngestConfig, wanted: str, lasts_s: float = 300.0) -> TargetReading:
    return await read_target(config, time.time_ns, lasts_s, wanted)


async def test_every_series_of_a_page_is_mapped_left_out_or_has_a_reason() -> None:
    async with page() as address:
        found = await read(scraped(address), address)
    assert (found.target, found.device, found.problem) == (f"gpu/{address}", "127.0.0.1", "")
    first, second, nobodys, secret, go = found.series
    power = 'gpu_power_watts{device="127.0.0.1",gpu="GPU-1"}'
    assert first.name == 'DCGM_FI_DEV_POWER_USAGE{UUID="GPU-1",gpu="0"}'
    assert power in first.canonical
    assert found.values[power] == 300.0
    assert second.canonical
    assert set(second.canonical) - found.values.keys(), "NaN is no sample"
    assert found.dropped == {"no_value": 1}
    assert (nobodys.canonical, nobodys.reason) == (
        (),
        "its labels are not those of device_software_info, gpu_info, gpu_power_watts",
    )
    assert secret == SourceSeries('node_vendor_secret{a="1"}', reason="nothing maps this name")
    assert go.left_out
    assert go.reason.startswith("left out: ")
    assert (found.unmapped, found.left_out) == (2, 1)


async def test_what_is_kept_under_its_own_name_is_a_series() -> None:
    async with page() as address:
        found = await read(scraped(address, unmapped="keep"), "gpu")
    kept = {each.name: each.canonical for each in found.series}['node_vendor_secret{a="1"}']
    assert [found.values[key] for key in kept] == [1.0]


async def test_what_a_host_states_without_an_exporter_is_listed_too(tmp_path: Path) -> None:
    file = tmp_path / "smi.xml"
    file.write_bytes((SAMPLES / "gpu_nvml" / "nvidia-smi_a10g.xml").read_bytes())
    source = {"targets": [{"device": "node1", "file": str(file)}]}
    found = await read(IngestConfig.model_validate({"nvidia_smi_sources": [source]}), "nvidia-smi")
    fed = {key for each in found.series for key in each.canonical}
    assert fed >= found.values.keys() > set()
    assert all(each.canonical or each.reason for each in found.series)


async def paths(requests: Requests, context: Any) -> Responses:
    await anext(requests)
    yield response(("in-octets", 5), ("vendor-secret", 6))
    names = gnmi_pb2.SubscribeResponse()
    names.CopyFrom(response(("in-octets", 7)))
    yield names
    yield SYNC
    await asyncio.sleep(3600)


async def test_every_path_of_a_switch_is_mapped_or_has_a_reason() -> None:
    async with serving(paths) as address:
        config = IngestConfig(gnmi_configs=(job(address),))
        found = await read(config, "test")
    series = {each.name: each for each in found.series}
    octets = "/interfaces/interface[name=Ethernet1]/state/counters/in-octets"
    key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
    assert series[octets] == SourceSeries(octets, (key,))
    assert found.values == {key: 7.0}
    assert (found.device, found.problem, found.unmapped) == ("leaf1", "", 1)
    secret = "interfaces/interface/state/counters/vendor-secret"
    assert series[secret] == SourceSeries(secret, reason="nothing maps this path")


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ("dcgm", "no target is called dcgm"),
        ("gpu", "gpu is the name of several targets, expected one: gpu/127.0.0.1:1, gpu/127.0.0.1:2"),
    ],
)
async def test_one_target_is_named(wanted: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        await read(scraped("127.0.0.1:1", "127.0.0.1:2"), wanted)


async def test_who_is_pushed_to_cannot_be_asked() -> None:
    receiver = {"job_name": "prom", "listen": "127.0.0.1:0", "rules": [{"source": "dcgm"}], "allow": ["127.0.0.1/32"]}
    config = IngestConfig.model_validate({"otlp_receivers": [receiver]})
    with pytest.raises(ConfigError, match="is sent what others push, and cannot be asked"):
        await read(config, "prom")


async def test_a_target_that_does_not_answer_says_why() -> None:
    found = await read(scraped("127.0.0.1:1"), "gpu")
    assert (found.problem, found.series, found.values) == ("refused", (), {})


async def test_a_switch_that_does_not_answer_says_why() -> None:
    config = IngestConfig(gnmi_configs=(job("127.0.0.1:1"),))
    found = await read(config, "test", lasts_s=2.0)
    assert found.problem != ""


async def test_a_source_without_names_of_its_own_gives_its_facts(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text("devices: [{name: leaf1, role: leaf}]\n")
    config = IngestConfig.model_validate({"inventory": {"file": tmp_path / "inventory.yaml"}})
    found = await read(config, "inventory")
    assert (found.problem, found.series) == ("", ())
    assert [getattr(each, "entity").name for each in found.events] == ["leaf1"]  # noqa: B009
