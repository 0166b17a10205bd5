"""The simulator's switches against independent clients: openconfig's gnmi_cli, pygnmi, and plain gRPC."""

import asyncio
import dataclasses
import json
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from subprocess import PIPE, STDOUT

import grpc
import numpy as np
import pytest

from common.units import NS_PER_S
from simulator.config import JobMix, SimulatorConfig
from simulator.counters.readings import RX, TX
from simulator.faults.schedule import ScheduledFault
from simulator.layout import Exporter
from simulator.servers.config import ServeConfig
from simulator.servers.gnmi.server import Credentials, GnmiServer
from simulator.servers.service import SimulatorService
from simulator.servers.tls import self_signed
from telemetry.gnmi import gnmi_pb2
from tests.samples import SAMPLES
from tests.unit.simulator.servers.gnmi.streams import StreamEnded, json_of, subscribed, subscribing
from tests.unit.simulator.servers.gnmi.switches import Switches, serving_switches
from tests.unit.simulator.servers.readings import filled_readings, later
from tests.waiting import DEADLINE_S

ROOT = Path(__file__).resolve().parents[3]
GNMI_CLI = ROOT / "build" / "bin" / "gnmi_cli"


@pytest.fixture
async def switches() -> AsyncIterator[Switches]:
    async with serving_switches() as serving:
        yield serving


async def output_of(*command: str) -> str:
    """What a program prints within the deadline; stderr is part of it."""
    process = await asyncio.create_subprocess_exec(*command, stdout=PIPE, stderr=STDOUT)
    try:
        async with asyncio.timeout(DEADLINE_S):
            out, _ = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
    return out.decode()


async def gnmi_cli(server: GnmiServer, *arguments: str) -> str:
    assert GNMI_CLI.exists(), "run tests/servers/gnmi/install.sh"
    return await output_of(str(GNMI_CLI), "-insecure", "-address", server.address, *arguments)


async def test_gnmi_cli_reads_the_capabilities(switches: Switches) -> None:
    spine = await gnmi_cli(switches.spine, "-capabilities")
    assert "openconfig-interfaces" in spine
    assert "supported_encodings: PROTO" in spine
    assert "supported_encodings: JSON_IETF" in await gnmi_cli(switches.leaf, "-capabilities")


async def test_gnmi_cli_gets_one_sonic_counter_as_a_string(switches: Switches) -> None:
    path = 'elem: <name: "COUNTERS"> elem: <name: "Ethernet4"> elem: <name: "SAI_PORT_STAT_PFC_3_RX_PKTS">'
    answer = await gnmi_cli(
        switches.leaf, "-get", "-proto", f'prefix: <target: "COUNTERS_DB"> path: <{path}> encoding: JSON_IETF'
    )
    at = switches.layout.port_index["leaf1", "Ethernet4"]
    assert f'string_val: "{int(switches.latest().readings.ports.pause_frames[at, 3, RX])}"' in answer


async def test_gnmi_cli_gets_an_openconfig_container(switches: Switches) -> None:
    path = 'elem: <name: "interfaces"> elem: <name: "interface" key: <key: "name" value: "Ethernet2/1">>'
    answer = await gnmi_cli(switches.spine, "-get", "-proto", f"path: <{path}> encoding: PROTO")
    at = switches.layout.port_index["spine1", "Ethernet2/1"]
    assert f"uint_val: {int(switches.latest().readings.ports.bytes[at, TX])}" in answer
    assert 'string_val: "SPEED_400GB"' in answer


async def test_gnmi_cli_subscribes_once_and_by_poll_and_by_stream(switches: Switches) -> None:
    query = ("-q", "interfaces/interface[name=Ethernet1/1]/state/oper-status", "-target", "spine1")
    assert "UP" in await gnmi_cli(switches.spine, *query, "-qt", "once")
    polled = await gnmi_cli(switches.spine, *query, "-qt", "polling", "-polling_interval", "100ms", "-count", "3")
    assert polled.count("oper-status") == 3
    assert "UP" in await gnmi_cli(switches.spine, *query, "-qt", "streaming", "-streaming_duration", "1s")


PYGNMI = """
import json, sys
from pygnmi.client import gNMIclient
leaf, spine = (("127.0.0.1", int(port)) for port in sys.argv[1:3])
with gNMIclient(target=spine, insecure=True) as client:
    got = client.get(path=["openconfig-interfaces:interfaces/interface[name=Ethernet1/1]/state"], encoding="json_ietf")
    models = [model["name"] for model in client.capabilities()["supported_models"]]
with gNMIclient(target=leaf, insecure=True) as client:
    sonic = client.get(path=["COUNTERS/Ethernet*"], target="COUNTERS_DB", encoding="json_ietf")
print(json.dumps({"models": models, "get": got, "sonic": sonic}))
"""


async def test_pygnmi_reads_both_flavours(switches: Switches) -> None:
    """In a process of its own: it brings gNMI stubs, and protobuf knows each message once."""
    ports = [server.address.rpartition(":")[2] for server in (switches.leaf, switches.spine)]
    answer = json.loads(await output_of(sys.executable, "-c", PYGNMI, *ports))
    readings, index = switches.latest().readings, switches.layout.port_index
    assert "openconfig-lldp" in answer["models"]
    tree = answer["get"]["notification"][0]["update"][0]["val"]["openconfig-interfaces:interfaces"]
    octets = tree["interface"][0]["state"]["counters"]["in-octets"]
    assert octets == str(int(readings.ports.bytes[index["spine1", "Ethernet1/1"], RX]))
    table = answer["sonic"]["notification"][0]["update"][0]["val"]
    assert table["Ethernet8"]["SAI_PORT_STAT_IF_IN_OCTETS"] == str(
        int(readings.ports.bytes[index["leaf1", "Ethernet8"], RX])
    )
    assert len(table) == len(switches.layout.switch_ports["leaf1"])


async def test_a_sampled_counter_follows_the_cluster_and_its_clock(switches: Switches) -> None:
    at = switches.layout.port_index["leaf1", "Ethernet0"]
    before = switches.latest().readings
    async with subscribed(switches.leaf.address, "COUNTERS/Ethernet*", target="COUNTERS_DB") as stream:
        (first,) = await stream.until_sync()
        switches.latest.publish(later(before, 10, 1000))
        second = (await stream.next()).update
        while second.timestamp == first.timestamp:
            second = (await stream.next()).update
    assert first.timestamp == before.now_ns
    assert second.timestamp == before.now_ns + 10 * NS_PER_S
    octets = [int(json_of(one)["Ethernet0"]["SAI_PORT_STAT_IF_IN_OCTETS"]) for one in (first, second)]
    assert octets == [int(before.ports.bytes[at, RX]), int(before.ports.bytes[at, RX]) + 1000]
    assert first.prefix.target == "COUNTERS_DB"


async def test_queues_have_the_keys_of_a_real_switch(switches: Switches) -> None:
    async with subscribed(switches.leaf.address, "COUNTERS/Ethernet4/Queues", target="COUNTERS_DB") as stream:
        (only,) = await stream.until_sync()
    queues = json_of(only)
    at, ports = switches.layout.port_index["leaf1", "Ethernet4"], switches.latest().readings.ports
    assert queues["Ethernet4:3"]["SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS"] == str(int(ports.queue_ecn_packets[at, 3]))
    peak = queues["Ethernet4:3:periodic"]["SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"]
    assert peak == str(int(ports.queue_peak[at, 3]))
    real = json.loads((SAMPLES / "sonic" / "gnmi" / "COUNTERS__Ethernet68__Queues.json").read_text())
    assert {key.partition(":")[2] for key in queues} >= {"0", "3", "7", "1:periodic"}
    assert set(real["Ethernet68:1"]) - {"SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES"} <= set(queues["Ethernet4:1"])


def without_port(switches: Switches, name: tuple[str, str], *, seconds: float = 1.0) -> None:
    """Publishes readings in which one port is down."""
    readings = later(switches.latest().readings, seconds, 0)
    ports = dataclasses.replace(
        readings.ports, up=readings.ports.up.copy(), last_change_ns=readings.ports.last_change_ns.copy()
    )
    at = switches.layout.port_index[name]
    ports.up[at] = False
    ports.last_change_ns[at] = readings.now_ns
    switches.latest.publish(dataclasses.replace(readings, ports=ports))


async def test_a_link_that_goes_down_is_sent_on_change_by_a_sonic_switch(switches: Switches) -> None:
    async with subscribed(switches.leaf.address, "PORT_TABLE", target="APPL_DB", mode=gnmi_pb2.ON_CHANGE) as stream:
        (first,) = await stream.until_sync()
        assert {row["oper_status"] for row in json_of(first).values()} == {"up"}
        switches.latest.publish(later(switches.latest().readings, 1, 500))  # counters move: no update of this table
        without_port(switches, ("leaf1", "Ethernet4"))
        changed = json_of((await stream.next()).update)
    assert {name: row["oper_status"] for name, row in changed.items()} == {"Ethernet4": "down"}


async def test_a_link_that_goes_down_is_sent_on_change_by_an_openconfig_switch(switches: Switches) -> None:
    path = "interfaces/interface[name=*]/state/oper-status"
    async with subscribed(switches.spine.address, path, mode=gnmi_pb2.ON_CHANGE, encoding=gnmi_pb2.PROTO) as stream:
        assert len(await stream.until_sync()) == len(switches.layout.switch_ports["spine1"])
        without_port(switches, ("spine1", "Ethernet2/1"))
        update = (await stream.next()).update
    assert update.prefix.elem[1].key["name"] == "Ethernet2/1"
    assert [one.val.string_val for one in update.update] == ["DOWN"]


@pytest.mark.parametrize(
    ("flavour", "name", "path", "target", "expected"),
    [
        ("leaf", ("leaf1", "Ethernet4"), "LLDP_ENTRY_TABLE", "APPL_DB", "LLDP_ENTRY_TABLE/Ethernet4"),
        ("spine", ("spine1", "Ethernet2/1"), "lldp", "", "lldp/interfaces/interface/neighbors/neighbor"),
    ],
)
async def test_an_lldp_neighbour_is_deleted_after_its_time_to_live(
    switches: Switches, flavour: str, name: tuple[str, str], path: str, target: str, expected: str
) -> None:
    server: GnmiServer = getattr(switches, flavour)
    async with subscribed(server.address, path, target=target, mode=gnmi_pb2.ON_CHANGE) as stream:
        assert await stream.until_sync()
        without_port(switches, name)
        switches.latest.publish(later(switches.latest().readings, 119, 0))
        switches.latest.publish(later(switches.latest().readings, 2, 0))
        update = (await stream.next()).update
    assert ["/".join(elem.name for elem in gone.elem) for gone in update.delete] == [expected]
    assert not update.update


async def test_a_frozen_switch_repeats_its_values_under_new_timestamps(switches: Switches) -> None:
    """With ON_CHANGE paths beside sampled ones: a stream without updates must not spin."""
    async with subscribed(switches.leaf.address, "COUNTERS/Ethernet0", target="COUNTERS_DB") as stream:
        await stream.until_sync()
        readings = later(switches.latest().readings, 1, 0)
        readings.frozen[switches.layout.endpoint_index[Exporter.GNMI, "leaf1"]] = True
        switches.latest.publish(readings)
        async with subscribed(
            switches.leaf.address, "PORT_TABLE", target="APPL_DB", mode=gnmi_pb2.ON_CHANGE
        ) as on_change:
            await on_change.until_sync()
            switches.latest.publish(later(readings, 30, 5000))
            update = (await stream.next()).update
            while update.timestamp < readings.now_ns + 30 * NS_PER_S:
                update = (await stream.next()).update
    at = switches.layout.port_index["leaf1", "Ethernet0"]
    row: dict[str, str] = json.loads(update.update[0].val.json_ietf_val)
    assert row["SAI_PORT_STAT_IF_IN_OCTETS"] == str(int(readings.ports.bytes[at, RX]))


async def test_unknown_paths_send_nothing_and_the_rest_of_the_stream_works(switches: Switches) -> None:
    async with subscribed(switches.leaf.address, "TEMPERATURE_INFO", "NEIGH_STATE_TABLE", target="STATE_DB") as stream:
        (only,) = await stream.until_sync()
    assert {row["state"] for row in json_of(only).values()} == {"Established"}


async def test_updates_of_one_interface_come_in_one_message_under_its_prefix(switches: Switches) -> None:
    paths = (
        "interfaces/interface/state/counters",
        "qos/interfaces/interface",
        "components/component[name=Ethernet1/1]",
    )
    async with subscribed(switches.spine.address, *paths, encoding=gnmi_pb2.PROTO) as stream:
        messages = await stream.until_sync()
    ports = len(switches.layout.switch_ports["spine1"])
    assert len(messages) == 2 * ports + 1
    assert all(len(one.update) > 10 for one in messages)
    assert [elem.name for elem in messages[0].prefix.elem] == ["interfaces", "interface"]


async def port_rows(server: GnmiServer) -> int:
    async with subscribed(server.address, "PORT_TABLE", target="APPL_DB") as stream:
        return len(json_of((await stream.until_sync())[0]))


async def test_a_switch_that_is_off_ends_its_streams_and_accepts_new_ones_when_it_is_back(switches: Switches) -> None:
    async with subscribed(switches.leaf.address, "PORT_TABLE", target="APPL_DB") as stream:
        await stream.until_sync()
        await switches.leaf.close()
        with pytest.raises((grpc.aio.AioRpcError, StreamEnded)):
            await stream.to_its_end()
    with pytest.raises(grpc.aio.AioRpcError):
        await port_rows(switches.leaf)
    await switches.leaf.open()
    assert await port_rows(switches.leaf) == len(switches.layout.switch_ports["leaf1"])


async def test_a_second_server_on_the_same_address_is_refused(switches: Switches) -> None:
    twin = GnmiServer(switches.leaf.address, switches.leaf._tree, switches.leaf._view, Credentials())
    with pytest.raises(OSError, match="cannot listen"):
        await twin.open()


async def test_only_the_right_password_over_tls_gets_in(tmp_path: Path) -> None:
    key, chain = self_signed(tmp_path, ["127.0.0.1"])
    secret = Credentials(key.read_bytes(), chain.read_bytes(), "admin", "s3cret")
    async with serving_switches(secret) as serving:
        right = (("username", "admin"), ("password", "s3cret"))
        wrong = (("username", "admin"), ("password", "guess"))
        root = chain.read_bytes()
        async with subscribed(
            serving.leaf.address, "PORT_TABLE", target="APPL_DB", metadata=right, root=root
        ) as stream:
            assert await stream.until_sync()
        for metadata in (wrong, ()):
            async with subscribing(serving.leaf.address, metadata, root) as call:  # refused before it asks
                assert await call.code() is grpc.StatusCode.UNAUTHENTICATED


async def test_every_openconfig_leaf_has_the_clusters_value(switches: Switches) -> None:
    async with subscribed(switches.spine.address, "interfaces", "qos", encoding=gnmi_pb2.PROTO) as stream:
        messages = await stream.until_sync()
    ports, index = switches.latest().readings.ports, switches.layout.port_index
    checks: dict[str, Callable[[int], float]] = {
        "state/counters/in-octets": lambda at: ports.bytes[at, RX],
        "state/counters/in-fcs-errors": lambda at: ports.fcs_errors[at],
        "ethernet/pfc/priorities/priority3/state/out-frames": lambda at: ports.pause_frames[at, 3, TX],
        "ethernet/pfc/priorities/priority3/state/pfc-on-total-rx-time": lambda at: ports.pause_us[at, 3, RX] * 1e3,
        "output/queues/queue3/state/ecn-marked-pkts": lambda at: ports.queue_ecn_packets[at, 3],
    }
    seen = set()
    for message in messages:
        (name,) = message.prefix.elem[-1].key.values()
        for update in message.update:
            path = "/".join(elem.name + "".join(elem.key.values()) for elem in update.path.elem)
            if path in checks:
                assert update.val.uint_val == np.floor(checks[path](index["spine1", name])), path
                seen.add((name, path))
    assert len(seen) == len(checks) * len(switches.layout.switch_ports["spine1"])


async def test_readings_of_another_seed_differ(switches: Switches) -> None:
    """The comparisons above can fail: the numbers differ."""
    other = filled_readings(switches.layout, seed=2).ports
    assert not np.array_equal(other.bytes, switches.latest().readings.ports.bytes)


async def test_a_spine_that_fails_ends_its_streams_and_its_leaves_report_the_ports_down() -> None:
    """End to end: fault, model, servers, two kinds of switch."""
    cluster = SimulatorConfig(hosts=4, jobs=JobMix(jobs=1))
    service = SimulatorService(ServeConfig(cluster=cluster, address_offset=60 + os.getpid() % 180, step_s=0.05))
    await service.start()
    try:
        offset, switches = service.config.address_offset, service.layout.switches
        leaf, spine = (f"127.2.{offset}.{switches.index(name) + 1}:50051" for name in ("leaf1", "spine1"))
        async with (
            subscribed(leaf, "PORT_TABLE", target="APPL_DB", mode=gnmi_pb2.ON_CHANGE) as leaf_stream,
            subscribed(spine, "interfaces", encoding=gnmi_pb2.PROTO) as spine_stream,
        ):
            rows = json_of((await leaf_stream.until_sync())[0])
            await service.inject(ScheduledFault(fault="spine-down", target="spine1"), from_now=True)
            with pytest.raises((grpc.aio.AioRpcError, StreamEnded)):
                await spine_stream.to_its_end()
            down = json_of((await leaf_stream.next()).update)
    finally:
        await service.stop()
    uplink = next(p for p in service.layout.ports if (p.device, p.peer_device) == ("leaf1", "spine1"))
    assert rows[uplink.name]["oper_status"] == "up"
    assert {name: row["oper_status"] for name, row in down.items()} == {uplink.name: "down"}
