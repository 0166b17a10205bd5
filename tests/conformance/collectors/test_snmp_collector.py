"""The SNMP collector against a real agent, net-snmp's, from the settings file to the samples."""

import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from fabricscope.settings import load_settings
from ingest.collectors.snmp.collector import SnmpCollector
from ingest.ledger import DropReason, Ledger
from ingest.once import collect_once
from telemetry.samples import DownReason
from tests.conformance.collectors.snmp_agent import IF, IFX, NOW_NS, collector, interfaces, of_port, values
from tests.ledgers import assert_accounted
from tests.servers.snmpd import COMMUNITY, Snmpd

PORT_0 = {
    "fabric_port_receive_bytes_total": 1001,
    "fabric_port_transmit_bytes_total": 2**40 + 1,
    'fabric_port_packets_total{cast="unicast",direction="tx"}': 5,
    'fabric_port_discards_total{direction="rx"}': 1,
    'fabric_port_errors_total{direction="rx"}': 7,
    "fabric_port_up": 1,
    "fabric_port_admin_up": 1,
    "fabric_port_speed_bits_per_second": 400e9,
    "fabric_port_mtu_bytes": 9100,
}


@pytest.fixture
async def switch(agent: Snmpd, tmp_path: Path, ledger: Ledger) -> AsyncIterator[SnmpCollector]:
    """A collector of the agent."""
    made = collector(tmp_path, agent.address, ledger)
    yield made
    await made.stop()


async def test_interfaces_become_canonical_samples_under_their_names(
    agent: Snmpd, switch: SnmpCollector, ledger: Ledger
) -> None:
    agent.serve(interfaces(3))
    batch = await switch.collect(NOW_NS)
    assert of_port(batch, "Ethernet0") == PORT_0
    assert values(batch).keys() == {
        *(key for key in values(batch) if "Ethernet" in key),
        'fabric_device_uptime_seconds{device="leaf1"}',
    }
    assert len(batch) == 3 * len(PORT_0) + 1
    assert (batch.table.target, batch.table.device) == (f"snmp/{agent.address}", "leaf1")
    assert set(batch.times_ns.tolist()) == {NOW_NS}
    assert_accounted(ledger, [batch])
    assert (batch.collection.unmapped, switch.unmapped) == (0, set())


async def test_a_device_with_an_ipv6_address(agent: Snmpd, tmp_path: Path, ledger: Ledger) -> None:
    agent.serve(interfaces(1))
    made = collector(tmp_path, f"[::1]:{agent.port}", ledger)
    batch = await made.collect(NOW_NS)
    await made.stop()
    assert batch.collection.down is None
    assert "fabric_port_receive_bytes_total" in of_port(batch, "Ethernet0")


async def test_the_interfaces_of_a_real_machine(machine_agent: Snmpd, tmp_path: Path) -> None:
    (tmp_path / "community").write_text(COMMUNITY)
    (tmp_path / "settings.yaml").write_text(
        f"snmp_configs: [{{job_name: room, community_file: {tmp_path}/community, "
        f"targets: [{{address: '{machine_agent.address}', device: host1, labels: {{rack: r1}}}}]}}]"
    )
    config = load_settings(tmp_path / "settings.yaml").ingest
    (outcome,) = await collect_once(config, time.time_ns, 60)
    assert outcome.problem == ""
    assert outcome.batch is not None
    found = values(outcome.batch)
    ports = {name for _, name in socket.if_nameindex()}
    assert {f'fabric_port_up{{device="host1",port="{port}",rack="r1"}}' for port in ports} <= found.keys()
    assert found['fabric_port_mtu_bytes{device="host1",port="lo",rack="r1"}'] == 65536


async def test_a_big_switch_is_read_whole_and_its_series_stay(agent: Snmpd, switch: SnmpCollector) -> None:
    agent.serve(interfaces(70))
    batches = [await switch.collect(NOW_NS + second) for second in range(2)]
    assert [len(batch) for batch in batches] == [70 * len(PORT_0) + 1] * 2
    assert len({batch.table.digest for batch in batches}) == 1
    assert [batch.collection.seq for batch in batches] == [0, 1]


async def test_what_a_row_lacks_is_absent_and_not_zero(agent: Snmpd, switch: SnmpCollector) -> None:
    objects = interfaces(3)
    for oid in (f"{IFX}.6.1", f"{IF}.14.2", f"{IFX}.15.3", f"{IFX}.1.3"):
        del objects[oid]
    agent.serve(objects)
    batch = await switch.collect(NOW_NS)
    assert PORT_0.keys() - of_port(batch, "Ethernet0").keys() == {"fabric_port_receive_bytes_total"}
    assert PORT_0.keys() - of_port(batch, "Ethernet4").keys() == {'fabric_port_errors_total{direction="rx"}'}
    assert of_port(batch, "etp3").keys() == PORT_0.keys() - {"fabric_port_speed_bits_per_second"}


async def test_a_port_that_appears_and_one_that_is_renamed(agent: Snmpd, switch: SnmpCollector) -> None:
    agent.serve(interfaces(1))
    await switch.collect(NOW_NS)
    agent.serve(interfaces(2))
    assert "Ethernet4" not in str(values(await switch.collect(NOW_NS)).keys())
    assert of_port(await switch.collect(NOW_NS), "Ethernet4").keys() == PORT_0.keys()


async def test_states_other_than_up_are_down_and_unknown_ones_are_not_mapped(
    agent: Snmpd, switch: SnmpCollector
) -> None:
    objects = interfaces(3)
    agent.serve({**objects, f"{IF}.8.1": ("integer", 2), f"{IF}.8.2": ("integer", 7), f"{IF}.8.3": ("integer", 99)})
    batch = await switch.collect(NOW_NS)
    found = [of_port(batch, f"Ethernet{port}").get("fabric_port_up") for port in (0, 4, 8)]
    assert found == [0, 0, None]
    assert (batch.collection.unmapped, switch.unmapped) == (1, {"ifOperStatus"})


# ---- counters


async def test_a_counter_of_32_bits_that_wraps_goes_on(agent: Snmpd, switch: SnmpCollector) -> None:
    name = 'fabric_port_errors_total{direction="rx"}'
    found = []
    for errors in (2**32 - 10, 5, 3):
        agent.serve(interfaces(1, errors=errors))
        found.append(of_port(await switch.collect(NOW_NS), "Ethernet0")[name])
    assert found == [2**32 - 10, 2**32 + 5, 2 * 2**32 + 3]


async def test_a_counter_that_began_again_by_its_discontinuity_decreases(agent: Snmpd, switch: SnmpCollector) -> None:
    octets, errors = "fabric_port_receive_bytes_total", 'fabric_port_errors_total{direction="rx"}'
    agent.serve({**interfaces(1, errors=2**32 - 10), f"{IFX}.19.1": ("timeticks", 0)})
    await switch.collect(NOW_NS)
    agent.serve({**interfaces(1, octets=0, errors=5), f"{IFX}.19.1": ("timeticks", 700)})
    found = of_port(await switch.collect(NOW_NS), "Ethernet0")
    assert (found[octets], found[errors]) == (1, 5)


async def test_an_agent_that_restarted_has_counters_that_decrease(agent: Snmpd, switch: SnmpCollector) -> None:
    name = 'fabric_port_errors_total{direction="rx"}'
    agent.serve(interfaces(1, errors=2**32 - 10))
    before = await switch.collect(NOW_NS)
    while values(before)['fabric_device_uptime_seconds{device="leaf1"}'] < 1:
        before = await switch.collect(NOW_NS)  # its clock moves on
    agent.stop()
    agent.start()
    agent.serve(interfaces(1, errors=5))
    assert of_port(await switch.collect(NOW_NS), "Ethernet0")[name] == 5


# ---- failures


async def test_who_does_not_answer_is_down_with_a_reason_and_comes_back(
    agent: Snmpd, tmp_path: Path, ledger: Ledger
) -> None:
    agent.serve(interfaces(1))
    agent.stop()
    switch = collector(tmp_path, agent.address, ledger, request_timeout_s=0.5, retries=10)
    silent = await switch.collect(NOW_NS)
    agent.start()
    back = await switch.collect(NOW_NS)
    await switch.stop()
    assert (silent.collection.down, len(silent), silent.collection.seq) == (DownReason.TIMEOUT, 0, 0)
    assert of_port(back, "Ethernet0") == PORT_0
    assert ledger.samples_in == len(back)


async def test_a_community_that_is_not_the_agents_is_silence(agent: Snmpd, tmp_path: Path, ledger: Ledger) -> None:
    made = collector(tmp_path, agent.address, ledger, request_timeout_s=0.5, retries=10)
    (tmp_path / "community").write_text("wrong")
    assert (await made.collect(NOW_NS)).collection.down is DownReason.TIMEOUT
    (tmp_path / "community").write_text(COMMUNITY)  # rotated: the next collection reads it
    assert (await made.collect(NOW_NS)).collection.up
    (tmp_path / "community").unlink()
    assert (await made.collect(NOW_NS)).collection.down is DownReason.AUTH
    await made.stop()


async def test_a_name_without_address_is_down(tmp_path: Path, ledger: Ledger) -> None:
    made = collector(tmp_path, "no-such-device.invalid", ledger)
    assert (await made.collect(NOW_NS)).collection.down is DownReason.DNS
    await made.stop()


async def test_a_device_without_anything_known_is_up_with_its_uptime_alone(agent: Snmpd, switch: SnmpCollector) -> None:
    batch = await switch.collect(NOW_NS)
    assert values(batch).keys() == {'fabric_device_uptime_seconds{device="leaf1"}'}


async def test_more_series_than_allowed_are_no_samples(agent: Snmpd, tmp_path: Path, ledger: Ledger) -> None:
    agent.serve(interfaces(50))
    made = collector(tmp_path, agent.address, ledger, series_max=100)
    assert (await made.collect(NOW_NS)).collection.down is DownReason.TOO_MANY_SERIES
    await made.stop()


async def test_values_that_are_no_sample_are_dropped_with_their_reason(
    agent: Snmpd, switch: SnmpCollector, ledger: Ledger
) -> None:
    objects = interfaces(1)
    agent.serve({**objects, f"{IFX}.15.1": ("string", "N/A"), f"{IF}.4.1": ("integer", -1)})
    batch = await switch.collect(NOW_NS)
    assert ledger.drops == {DropReason.NO_VALUE: 1, DropReason.OUT_OF_BOUNDS: 1}
    assert ledger.samples_in == len(batch) + ledger.drops.total()
