"""The Redfish collector against a real HTTPS server with the trees of two controllers, and one that misbehaves."""

import asyncio
from pathlib import Path

import pytest
from aiohttp import web

from bus.base import Record
from bus.config import BusConfig, EmbeddedConfig
from bus.open import open_bus
from fabricscope.settings import load_settings
from ingest.ledger import DropReason
from ingest.service import IngestService
from telemetry import topics
from telemetry.codec.batch import BatchDecoder
from telemetry.samples import DownReason, SampleBatch
from tests.conformance.collectors.redfish_bench import FAST, NOW_NS, Bench, down, values
from tests.ledgers import assert_accounted
from tests.servers import redfish
from tests.servers.redfish import PASSWORD, ROOT, USER, new_shape, old_shape
from tests.waiting import DEADLINE_S

THERMAL = f"{ROOT}/Chassis/System.Embedded.1/Thermal"

OLD = {
    'node_power_watts{device="node1"}': 429.0,
    'node_power_peak_watts{device="node1",kind="maximum"}': 436.0,
    'node_psu_watts{device="node1",direction="tx",sensor="System.Embedded.1/PSU.Slot.1"}': 203.0,
    'node_temperature_celsius{device="node1",sensor="System.Embedded.1/CPU1 Temp"}': 40.0,
    'node_fan_rpm{device="node1",sensor="System.Embedded.1/System Board Fan8B"}': 15840.0,
    'node_sensor_severity{device="node1",kind="chassis",sensor="System.Embedded.1"}': 1.0,
    'node_sensor_severity{device="node1",kind="system",sensor="system"}': 0.0,
    'node_power_on{device="node1"}': 1.0,
}
NEW = {
    'node_power_watts{device="node1"}': 374.0,
    'node_temperature_celsius{device="node1",sensor="1/02-CPU 1 PkgTmp"}': 42.0,
    'node_temperature_celsius{device="node1",sensor="1/Coolant"}': 31.5,
    'node_fan_rpm{device="node1",sensor="1/Fan Bay 1"}': 2200.0,
    'node_fan_ratio{device="node1",sensor="1/Fan Bay 1"}': 0.45,
    'node_sensor_severity{device="node1",kind="fan",sensor="1/Fan Bay 1"}': 2.0,
    'node_psu_watts{device="node1",direction="rx",sensor="1/Bay1"}': 937.4,
    'node_psu_limit_watts{device="node1",sensor="1/Bay1"}': 400.0,
    'node_sensor_volts{device="node1",sensor="1/PS1_12VOutput"}': 12.06,
}


async def test_the_old_shape_with_pages(bench: Bench) -> None:
    await bench.serve(old_shape())
    batch = await bench.collector().collect(NOW_NS)
    found = values(batch)
    assert {key: found.get(key) for key in OLD} == OLD
    assert isinstance(batch, SampleBatch)
    assert batch.collection.unmapped == 0
    assert_accounted(bench.ledger, [batch])
    assert bench.ledger.drops == {DropReason.NO_VALUE: 1}


@pytest.mark.parametrize("expands", [False, True])
async def test_the_new_shape_is_read_once_and_the_old_one_beside_it_is_not(bench: Bench, expands: bool) -> None:
    features = {"ProtocolFeaturesSupported": {"ExpandQuery": {"NoLinks": expands, "Levels": expands}}}
    controller = await bench.serve(new_shape(**features))
    batch = await bench.collector().collect(NOW_NS)
    found = values(batch)
    assert {key: found.get(key) for key in NEW} == NEW
    assert f"GET {ROOT}/Chassis/1/Thermal" not in controller.asked
    assert (f"GET {ROOT}/Chassis/1/Sensors/Coolant" in controller.asked) is not expands
    assert f"GET {ROOT}/Chassis/1/Sensors/TotalPower" not in controller.asked, "EnvironmentMetrics has its reading"
    assert DropReason.DUPLICATE not in bench.ledger.drops


async def test_a_chassis_without_readings_in_the_new_shape_is_read_in_the_old_one(bench: Bench) -> None:
    tree = new_shape()
    subsystem = f"{ROOT}/Chassis/1/ThermalSubsystem"
    tree[subsystem] = {"Fans": redfish.at(f"{subsystem}/None")}
    await bench.serve(tree)
    found = values(await bench.collector().collect(NOW_NS))
    assert found['node_fan_ratio{device="node1",sensor="1/Fan 1"}'] == 0.23


async def test_what_lists_others_is_asked_for_once(bench: Bench) -> None:
    controller = await bench.serve(old_shape())
    collector = bench.collector()
    first = values(await collector.collect(NOW_NS))
    controller.asked.clear()
    assert values(await collector.collect(NOW_NS + 30 * 10**9)) == first
    assert (
        sorted(controller.asked)
        == [
            f"GET {ROOT}/Chassis/System.Embedded.1/Power",
            f"GET {THERMAL}",
            f"GET {ROOT}/Systems/System.Embedded.1",
        ]
        or len(controller.asked) == 3
    )
    await collector.collect(NOW_NS + 601 * 10**9)
    assert f"GET {ROOT}/Chassis" in controller.asked


async def test_basic_auth(bench: Bench) -> None:
    await bench.serve(old_shape(), needs="basic")
    assert values(await bench.collector(basic_auth=bench.user).collect(NOW_NS)).items() >= OLD.items()
    assert down(await bench.collector().collect(NOW_NS)) is DownReason.AUTH


async def test_a_session_is_kept_renewed_when_it_ends_and_closed(bench: Bench) -> None:
    controller = await bench.serve(old_shape(), needs="session")
    collector = bench.collector(session_auth=bench.user)
    assert [down(await collector.collect(NOW_NS)) for _ in range(2)] == [None, None]
    assert controller.logins == 1
    controller.sessions.clear()
    assert down(await collector.collect(NOW_NS)) is None
    assert controller.logins == 2
    await collector.stop()
    assert controller.sessions == set()
    assert not any(PASSWORD in asked for asked in controller.asked)


async def test_a_wrong_password_is_tried_once_a_collection(bench: Bench) -> None:
    controller = await bench.serve(new_shape(), needs="session")
    bench.password.write_text("wrong")
    collector = bench.collector(session_auth=bench.user)
    assert down(await collector.collect(NOW_NS)) is DownReason.AUTH
    assert controller.logins == 1, "several would lock the account"
    bench.password.write_text(PASSWORD)
    assert down(await collector.collect(NOW_NS)) is None


async def test_a_controller_is_asked_a_bounded_number_of_things_at_a_time(bench: Bench) -> None:
    tree = new_shape()
    fans = f"{ROOT}/Chassis/1/ThermalSubsystem/Fans"
    tree |= redfish.collection(fans, *(f"F{n}" for n in range(40)))
    tree |= {f"{fans}/F{n}": {"Name": f"F{n}", "SpeedPercent": {"SpeedRPM": 1000 + n}} for n in range(40)}
    controller = await bench.serve(tree)
    controller.together, controller.since = 3, f"{fans}/F"
    found = values(await bench.collector(limits={**FAST, "connections_max": 3}).collect(NOW_NS))
    assert found['node_fan_rpm{device="node1",sensor="1/F39"}'] == 1039.0
    assert controller.most_at_once == 3


async def test_a_tree_without_end_is_read_to_the_limit(bench: Bench) -> None:
    tree = new_shape()
    page = f"{ROOT}/Chassis/1/Sensors"
    tree[page] = {"Members": [], "Members@odata.nextLink": page}
    tree |= redfish.collection(f"{ROOT}/Chassis/1/ThermalSubsystem/Fans", *(f"F{n}" for n in range(500)))
    controller = await bench.serve(tree)
    found = values(await bench.collector(limits={**FAST, "requests_max": 100}).collect(NOW_NS))
    assert len(controller.asked) == 100
    assert 'node_temperature_celsius{device="node1",sensor="1/02-CPU 1 PkgTmp"}' in found


async def test_a_link_to_another_host_is_not_followed(bench: Bench) -> None:
    tree = new_shape()
    other = await bench.serve(new_shape())
    for target in (f"https://{other.address}{ROOT}/Chassis/1", f"//{other.address}{ROOT}", "/other", 7):
        tree[f"{ROOT}/Chassis/1"]["ThermalSubsystem"] = {"@odata.id": target}
        await bench.serve(tree, needs="basic")
        batch = await bench.collector(basic_auth=bench.user).collect(NOW_NS)
        assert down(batch) is None
    assert other.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        web.Response(status=500),
        web.Response(status=403),
        web.Response(status=302, headers={"Location": "http://169.254.169.254/"}),
        web.Response(text="<html>"),
        web.Response(text="[]"),
        web.json_response({"Temperatures": 5, "Fans": [None, {"Reading": {}}]}),
        web.Response(text='{"a":' * 40 + "1" + "}" * 40),
        web.Response(body=b"[" * 6_000_000),
    ],
)
async def test_one_resource_that_cannot_be_read_leaves_the_others(bench: Bench, answer: web.Response) -> None:
    controller = await bench.serve(old_shape())
    controller.instead[THERMAL] = [answer]
    collector = bench.collector()
    found = values(await collector.collect(NOW_NS))
    assert found['node_power_watts{device="node1"}'] == 429.0
    assert 'node_temperature_celsius{device="node1",sensor="System.Embedded.1/CPU1 Temp"}' not in found
    assert values(await collector.collect(NOW_NS + 10**9)).items() >= OLD.items()


@pytest.mark.parametrize(
    ("path", "answer", "reason"),
    [
        (f"{ROOT}/", web.Response(status=503), DownReason.HTTP_STATUS),
        (f"{ROOT}/", web.Response(text="<html>"), DownReason.BAD_FORMAT),
        (f"{ROOT}/", web.Response(status=301, headers={"Location": "/"}), DownReason.REDIRECT),
        (f"{ROOT}/Chassis", web.Response(status=401), DownReason.AUTH),
        (f"{ROOT}/Chassis", web.Response(status=404), DownReason.HTTP_STATUS),
    ],
)
async def test_a_controller_that_fails_is_down_with_a_reason_and_the_next_collection_works(
    bench: Bench, path: str, answer: web.Response, reason: DownReason
) -> None:
    controller = await bench.serve(old_shape())
    controller.instead[path] = [answer]
    collector = bench.collector()
    failed = await collector.collect(NOW_NS)
    assert (down(failed), values(failed)) == (reason, {})
    assert values(await collector.collect(NOW_NS + 1)).items() >= OLD.items()


async def test_a_controller_that_is_silent_is_down_at_the_deadline(bench: Bench) -> None:
    controller = await bench.serve(old_shape())
    collector = bench.collector(timeout_s=5.0)
    controller.hold.clear()
    assert down(await collector.collect(NOW_NS)) is DownReason.TIMEOUT
    controller.hold.set()
    assert down(await collector.collect(NOW_NS)) is None


async def test_nobody_there_and_a_certificate_of_nobody(bench: Bench) -> None:
    await bench.serve(old_shape())
    untrusted = bench.collector(tls_config={})
    assert down(await untrusted.collect(NOW_NS)) is DownReason.TLS
    missing = bench.collector(tls_config={"ca_file": "absent.pem"})
    assert down(await missing.collect(NOW_NS)) is DownReason.TLS
    bench.controller.address = "127.0.0.1:1"
    assert down(await bench.collector().collect(NOW_NS)) is DownReason.REFUSED


async def test_readings_reach_the_bus_from_the_settings_file(bench: Bench, tmp_path: Path) -> None:
    controller = await bench.serve(old_shape(), needs="session")
    (tmp_path / "settings.yaml").write_text(
        f"""
redfish_configs:
  - interval_s: 5
    timeout_s: 5
    session_auth: {{username: {USER}, password_file: {bench.password}}}
    tls_config: {{ca_file: {bench.certificates.authority}}}
    targets: [{{address: "{controller.address}", device: node1}}]
"""
    )
    bus = open_bus(BusConfig(embedded=EmbeddedConfig(path=tmp_path / "bus.sqlite")))
    await bus.start()
    service = IngestService(load_settings(tmp_path / "settings.yaml").ingest, bus)
    await service.start()
    reader = bus.consume([topics.SAMPLES], {})
    batch: SampleBatch | None = None
    async with asyncio.timeout(DEADLINE_S):
        while batch is None or not batch.collection.up:
            records: list[Record] = await reader.poll(wait_s=0.2)
            batch = BatchDecoder().decode(records[0].value or b"", records[0].headers) if records else None
    await service.stop()
    await reader.stop()
    await bus.stop()
    assert values(batch).items() >= OLD.items()
    assert controller.sessions == set(), "logged out"
