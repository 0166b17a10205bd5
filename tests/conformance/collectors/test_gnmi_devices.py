"""The gNMI collector against openconfig's fake device, and against one that answers as SONiC does."""

import asyncio
import signal
import time
from collections.abc import Sequence
from typing import Any

from ingest.collectors.gnmi.channel import keepalive_after
from ingest.collectors.gnmi.config import GnmiTlsConfig, Mode, PathConfig, Source, SubscriptionConfig, TargetConfig
from ingest.collectors.gnmi.paths.elements import parse_path
from telemetry.gnmi import gnmi_pb2
from telemetry.samples import DownReason
from telemetry.topology import Link
from tests.conformance.collectors.gnmi_peer import SYNC, Requests, Responses, collecting, job, response, serving
from tests.servers.certificates import Certificates
from tests.servers.gnmi import DeviceStarter


async def test_a_dead_connection_is_noticed_even_where_no_updates_are_due(
    fake_device: DeviceStarter, certificates: Certificates
) -> None:
    """on_change without heartbeat: only keepalive distinguishes a quiet device from one whose packets vanish."""
    device = fake_device([response(("in-octets", 42))])
    tls = GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example")
    on_change = SubscriptionConfig(paths=(PathConfig(path="/interfaces", mode=Mode.ON_CHANGE),))
    config = job(device.address, tls=tls, subscriptions=(on_change,), keepalive_s=1.0)
    async with collecting(config) as (emitted, _):
        await emitted.until(lambda: any(map(len, emitted.batches)))
        refused = len(emitted.downs)  # while it started
        device.process.send_signal(signal.SIGSTOP)
        try:
            await emitted.until(lambda: len(emitted.downs) > refused)
        finally:
            device.process.send_signal(signal.SIGCONT)
        assert emitted.downs[refused] is DownReason.TIMEOUT
        before = sum(map(len, emitted.batches))
        await emitted.until(lambda: sum(map(len, emitted.batches)) > before)


async def test_a_device_that_refuses_pings_is_subscribed_again_and_pinged_less(
    fake_device: DeviceStarter, certificates: Certificates
) -> None:
    device = fake_device([response(("in-octets", 42))])
    tls = GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example")
    on_change = SubscriptionConfig(paths=(PathConfig(path="/interfaces", mode=Mode.ON_CHANGE),))
    config = job(device.address, tls=tls, subscriptions=(on_change,), keepalive_s=1.0)
    async with collecting(config) as (emitted, _):
        await emitted.until(lambda: DownReason.CLOSED in emitted.downs)
        await emitted.until(lambda: sum(map(len, emitted.batches)) == 2)
    assert keepalive_after("too_many_pings", 1.0) == 4.0
    assert keepalive_after("too_many_pings", 30.0) == 120.0
    assert keepalive_after("too_many_pings", 300.0) == 600.0
    assert keepalive_after("too_many_pings", 900.0) == 900.0
    assert keepalive_after("Socket closed", 30.0) == 30.0


async def test_openconfigs_own_fake_device_is_read(fake_device: DeviceStarter, certificates: Certificates) -> None:
    now_ns = time.time_ns()
    neighbour = "/lldp/interfaces/interface[name=Ethernet1]/neighbors/neighbor[id=1]/state"
    lldp = response(prefix=neighbour, at_ns=now_ns)
    for leaf, text in (("system-name", "spine1.example"), ("port-id", "Ethernet9")):
        lldp.update.update.add(path=parse_path(leaf)).val.string_val = text
    state = response(prefix="/interfaces/interface[name=Ethernet1]/state", at_ns=now_ns)
    body = b'{"openconfig-interfaces:oper-status": "UP", "counters": {"in-errors": "5"}}'
    state.update.update.add(path=parse_path("/")).val.json_ietf_val = body
    device = fake_device([response(("in-octets", 42), ("out-octets", 43), at_ns=now_ns), state, lldp])
    tls = GnmiTlsConfig(ca_file=certificates.authority, server_name="switch.example")
    slow = SubscriptionConfig(paths=(PathConfig(path="/", interval_s=60),))
    async with collecting(job(device.address, tls=tls, subscriptions=(slow,))) as (emitted, _):
        await emitted.until(lambda: len(emitted.values()) == 4 and emitted.facts)
    port = '{device="leaf1",port="Ethernet1"}'
    assert emitted.values() == {
        f"fabric_port_receive_bytes_total{port}": [42.0],
        f"fabric_port_transmit_bytes_total{port}": [43.0],
        f"fabric_port_up{port}": [1.0],
        'fabric_port_errors_total{device="leaf1",direction="rx",port="Ethernet1"}': [5.0],
    }
    assert emitted.facts[0].entity == Link("leaf1", "Ethernet1", "spine1", "Ethernet9")


async def test_openconfigs_fake_device_streams_values_in_old_paths(
    fake_device: DeviceStarter, certificates: Certificates
) -> None:
    now_ns = time.time_ns()
    path = ["interfaces", "interface[name=Ethernet1]", "state", "counters", "in-octets"]
    steps = " ".join(f'path: "{step}"' for step in path)
    value = (
        f"values {{ {steps} timestamp {{ timestamp: {now_ns} delta_min: 50000000 delta_max: 50000000 }} repeat: 20 "
        "uint_value { value: 10 range { minimum: 0 maximum: 1000 delta_min: 10 delta_max: 10 } } }\n"
    )
    device = fake_device(config=f"enable_delay: true\n{value}", client_certificate=True)
    tls = GnmiTlsConfig(
        ca_file=certificates.authority,
        server_name="switch.example",
        cert_file=certificates.certificate("client"),
        key_file=certificates.key("client"),
    )
    async with collecting(job(device.address, tls=tls)) as (emitted, _):
        key = 'fabric_port_receive_bytes_total{device="leaf1",port="Ethernet1"}'
        await emitted.until(lambda: len(emitted.values().get(key, [])) >= 5)
        values = emitted.values()[key]
        assert values == sorted(values)


def sonic_answers(database: str) -> Sequence[tuple[str, bytes]]:
    if database == "APPL_DB":
        ports = b'{"Ethernet0": {"alias": "etp1", "oper_status": "up", "speed": "400000"}}'
        neighbours = b'{"Ethernet0": {"lldp_rem_sys_name": "spine1", "lldp_rem_port_id": "Ethernet8"}}'
        return (("PORT_TABLE", ports), ("LLDP_ENTRY_TABLE", neighbours))
    if database == "COUNTERS_DB":
        return (("COUNTERS/Ethernet*", b'{"etp1": {"SAI_PORT_STAT_PFC_3_RX_PKTS": "17"}}'),)
    return ()


async def test_sonic_default_set_resolves_aliases_from_the_first_subscription() -> None:
    asked: list[str] = []

    async def sonic(requests: Requests, context: Any) -> Responses:
        request = await anext(requests)
        database = request.subscribe.prefix.target
        asked.append(database)
        while True:
            for path, body in sonic_answers(database):
                made = gnmi_pb2.SubscribeResponse()
                made.update.timestamp = time.time_ns()
                made.update.prefix.target = database
                made.update.update.add(path=parse_path(path)).val.json_ietf_val = body
                yield made
            yield SYNC
            await asyncio.sleep(0.1)

    config = job("x:1", source=Source.SONIC, subscriptions=())
    async with serving(sonic) as address:
        target = TargetConfig(address=address, device="leaf1")
        async with collecting(config.model_copy(update={"targets": (target,)})) as (emitted, _):
            key = 'fabric_port_pfc_pause_frames_total{device="leaf1",direction="rx",port="Ethernet0",priority="3"}'
            await emitted.until(lambda: key in emitted.values() and emitted.facts)
            assert emitted.values()[key][0] == 17.0
            assert emitted.facts[0].entity.key == "link/leaf1/Ethernet0--spine1/Ethernet8"
            rated = Link("leaf1", "Ethernet0", "spine1", "Ethernet8", 4e11)
            await emitted.until(lambda: any(fact.entity == rated for fact in emitted.facts))
            await emitted.until(lambda: set(asked) == {"APPL_DB", "COUNTERS_DB", "STATE_DB"})
            assert asked[0] == "APPL_DB"
